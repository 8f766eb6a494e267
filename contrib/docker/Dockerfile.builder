# A builder: docker build -t nodepool-builder -f contrib/docker/Dockerfile.builder contrib/docker
# Builds need loop devices, mounts and chroot: docker run --privileged -v nodepool-builder:/var/lib/nodepool-builder -v /etc/nodepool:/etc/nodepool:ro
# with images-dir: /var/lib/nodepool-builder/images and build-log-dir: /var/lib/nodepool-builder/logs
FROM node:22-bookworm-slim
ARG VERSION=latest
ARG DRIVERS="@nodepool/driver-openstack @nodepool/driver-gce @nodepool/driver-incus"
# debootstrap and what the elements of Debian and Ubuntu, and the formats qcow2, raw and vhd, need. Elements for others need their tools.
RUN apt-get update && apt-get install --yes --no-install-recommends ca-certificates curl debootstrap dosfstools e2fsprogs gdisk git kpartx parted procps python3-diskimage-builder qemu-utils squashfs-tools sudo udev xfsprogs && rm -rf /var/lib/apt/lists/*
RUN npm install --global --omit=dev --no-audit --no-fund "@nodepool/builder@$VERSION" "@nodepool/cli@$VERSION" $DRIVERS
RUN install -d -o root -g root -m 755 /var/lib/nodepool-builder/images /var/lib/nodepool-builder/logs /var/lib/nodepool-builder/tmp
# Temporary files of builds are as large as the images: on the volume, not in the layer of the container.
ENV NODE_ENV=production TMPDIR=/var/lib/nodepool-builder/tmp
VOLUME /var/lib/nodepool-builder
EXPOSE 8006
# TERM waits for builds: give `docker stop --time` more than --drain-timeout.
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=5s CMD ["node", "-e", "fetch('http://127.0.0.1:8006/healthz').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["nodepool-builder", "-f"]
CMD ["-c", "/etc/nodepool/nodepool.yaml", "--drain-timeout", "3600"]
