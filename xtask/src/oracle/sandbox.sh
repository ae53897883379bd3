# usage: sh -c SCRIPT sandbox ROOT HOME CLIENT NODE CWD COMMAND...
#
# Gives a command a root of its own: the system's directories, to read only, and
#   /home/dev    HOME, to write
#   /opt/client  CLIENT
#   /opt/node    NODE, unless that is `-`
# The real homes of this machine are not in it. The command runs as `dev` (1000) in
# CWD, with no environment but what it is given by `env`. The caller has made the
# mount namespace, so that all mounts are gone with it.
set -eu
root=$1 home=$2 client=$3 node=$4 cwd=$5
shift 5

read_only() {
    mkdir -p "$root$2"
    mount --bind -o ro "$1" "$root$2"
}

for name in usr bin sbin lib lib32 lib64 libx32; do
    if [ -L "/$name" ]; then
        cp -P "/$name" "$root/$name"
    elif [ -d "/$name" ]; then
        read_only "/$name" "/$name"
    fi
done
read_only "$client" /opt/client
if [ "$node" != - ]; then
    read_only "$node" /opt/node
fi
mkdir -p "$root/dev" "$root/proc" "$root/tmp" "$root/etc" "$root/opt/bin" "$root/home/dev"
chmod 1777 "$root/tmp"
# Devices to use, in a directory that is not the system's: whoever replaces one replaces
# nothing outside.
mount -t tmpfs -o mode=755 tmpfs "$root/dev"
for name in null zero full random urandom tty; do
    touch "$root/dev/$name"
    mount --bind "/dev/$name" "$root/dev/$name"
done
mkdir "$root/dev/shm" "$root/dev/pts"
chmod 1777 "$root/dev/shm"
ln -s /proc/self/fd "$root/dev/fd"
ln -s fd/0 "$root/dev/stdin"
ln -s fd/1 "$root/dev/stdout"
ln -s fd/2 "$root/dev/stderr"
ln -s pts/ptmx "$root/dev/ptmx"
mount --bind /dev/pts "$root/dev/pts"
mount -t proc proc "$root/proc"
mount --bind "$home" "$root/home/dev"

# The loader and links of the system; no names of this machine.
for name in ld.so.cache ld.so.conf ld.so.conf.d alternatives; do
    if [ -e "/etc/$name" ]; then
        cp -R -P "/etc/$name" "$root/etc/"
    fi
done
echo 'dev:x:1000:1000::/home/dev:/bin/bash' >"$root/etc/passwd"
echo 'dev:x:1000:' >"$root/etc/group"
echo '127.0.0.1 localhost devbox' >"$root/etc/hosts"
printf 'passwd: files\ngroup: files\nhosts: files\n' >"$root/etc/nsswitch.conf"
# Some clients ask npm for news at each start, which takes long without a network.
printf '#!/bin/sh\nexit 1\n' >"$root/opt/bin/npm"
chmod +x "$root/opt/bin/npm"

mkdir -p "$root$cwd"
exec unshare --user --map-user=1000 --map-group=1000 --root="$root" --wd="$cwd" "$@"
