"""Volumes without disks: everything succeeds, nothing is kept but Cinder's own records."""
import time

from cinder import exception
from cinder import interface
from cinder.volume import driver

import faults


@interface.volumedriver
class UnrealVolumeDriver(driver.VolumeDriver):
    VERSION = '1'
    CI_WIKI_NAME = 'none'

    def do_setup(self, context):
        self._failed = set()

    def check_for_setup_error(self):
        pass

    def create_volume(self, volume):
        time.sleep(faults.seconds('volume-delay'))
        if volume.id in self._failed or faults.happens('volume-fail'):
            self._failed.add(volume.id)
            raise exception.VolumeBackendAPIException(data='volume-fail is set')

    def clone_image(self, context, volume, image_location, image_meta, image_service):
        self.create_volume(volume)
        return {}, True

    def delete_volume(self, volume):
        time.sleep(faults.seconds('volume-delete-delay'))

    def ensure_export(self, context, volume):
        pass

    def create_export(self, context, volume, connector):
        pass

    def remove_export(self, context, volume):
        pass

    def initialize_connection(self, volume, connector, **kwargs):
        return {'driver_volume_type': 'unreal', 'data': {'volume_id': volume.id, 'access_mode': 'rw'}}

    def terminate_connection(self, volume, connector, **kwargs):
        pass

    def _update_volume_stats(self):
        pool = {
            'pool_name': 'unreal', 'total_capacity_gb': 10000, 'free_capacity_gb': 10000, 'reserved_percentage': 0,
            'multiattach': True, 'thin_provisioning_support': True, 'thick_provisioning_support': False,
            'max_over_subscription_ratio': '20.0', 'provisioned_capacity_gb': 0, 'QoS_support': False,
        }
        self._stats = {
            'volume_backend_name': self.configuration.safe_get('volume_backend_name'), 'vendor_name': 'none',
            'driver_version': self.VERSION, 'storage_protocol': 'unreal', 'pools': [pool],
        }
