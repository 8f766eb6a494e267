"""Networks without agents: ports are bound and up at once, floating IPs follow their association."""
import eventlet
from neutron.services.l3_router import l3_router_plugin
from neutron_lib import constants
from neutron_lib import context as contexts
from neutron_lib.api.definitions import portbindings
from neutron_lib.plugins.ml2 import api

import faults


class UnrealMechanismDriver(api.MechanismDriver):
    connectivity = portbindings.CONNECTIVITY_L2

    def initialize(self):
        self._unbound = set()

    def bind_port(self, context):
        port = context.current['id']
        if port in self._unbound or faults.happens('bind-fail'):
            self._unbound.add(port)
            return
        segment = context.segments_to_bind[0]
        context.set_binding(
            segment[api.ID], portbindings.VIF_TYPE_OVS, {portbindings.CAP_PORT_FILTER: False},
            status=constants.PORT_STATUS_ACTIVE)


class UnrealL3Plugin(l3_router_plugin.L3RouterPlugin):
    def create_floatingip(self, context, floatingip):
        made = super().create_floatingip(context, floatingip)
        self._later(made['id'])
        return made

    def update_floatingip(self, context, id, floatingip):
        made = super().update_floatingip(context, id, floatingip)
        self._later(id)
        return made

    def disassociate_floatingips(self, context, port_id, do_notify=True):
        concerned = self.get_floatingips(context.elevated(), {'port_id': [port_id]})
        result = super().disassociate_floatingips(context, port_id, do_notify)
        for ip in concerned:
            self._later(ip['id'])
        return result

    def _later(self, id):
        eventlet.spawn_after(faults.seconds('floating-ip-delay', 0.1), self._settle, id)

    def _settle(self, id):
        context = contexts.get_admin_context()
        for ip in self.get_floatingips(context, {'id': [id]}):
            up = constants.FLOATINGIP_STATUS_ACTIVE
            if faults.happens('floating-ip-fail'):
                up = constants.FLOATINGIP_STATUS_ERROR
            self.update_floatingip_status(context, id, up if ip['port_id'] else constants.FLOATINGIP_STATUS_DOWN)
