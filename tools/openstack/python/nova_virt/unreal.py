"""A compute host that is nothing but large: Nova's own fake driver with a size and faults."""
import time

from nova import exception
from nova.compute import power_state
from nova.virt import fake

import faults


class UnrealDriver(fake.FakeDriver):
    vcpus = 256
    memory_mb = 1024 * 1024
    local_gb = 20000

    def spawn(self, context, instance, *args, **kwargs):
        time.sleep(faults.seconds('spawn-delay'))
        if faults.happens('spawn-fail'):
            raise exception.BuildAbortException(instance_uuid=instance.uuid, reason='spawn-fail is set')
        super().spawn(context, instance, *args, **kwargs)

    def destroy(self, context, instance, *args, **kwargs):
        time.sleep(faults.seconds('destroy-delay'))
        if faults.happens('destroy-fail'):
            raise exception.InstanceTerminationFailure(reason='destroy-fail is set')
        super().destroy(context, instance, *args, **kwargs)

    def get_console_output(self, context, instance):
        return faults.read('console-output') or super().get_console_output(context, instance)

    def plug_vifs(self, instance, network_info):
        # called for each server of the host when the service starts again: it has not gone anywhere
        self.instances.setdefault(
            instance.uuid, fake.FakeInstance(instance.name, power_state.RUNNING, instance.uuid))
