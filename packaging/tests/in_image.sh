# in_image.sh ROOT FILES COMMAND...: prepares an image that is unpacked at ROOT as in a pod, where
# the root is read-only, copies FILES into the data directory, and becomes the command.
set -eu

root=$1 files=$2
mount --make-rprivate /
mount --bind "$root" "$root"
mount -o remount,bind,ro "$root"
mount --bind /proc "$root/proc"
mount -t tmpfs -o mode=755 tmpfs "$root/dev"
for node in null urandom; do
    : >"$root/dev/$node"
    mount --bind "/dev/$node" "$root/dev/$node"
done
mkdir -m 1777 "$root/dev/shm"
mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
mount -t tmpfs -o mode=750,uid=10001,gid=10001 tmpfs "$root/var/lib/tidegate"
cp -R "$files/." "$root/var/lib/tidegate"
chown -R 10001:10001 "$root/var/lib/tidegate"
shift 2
exec "$@"
