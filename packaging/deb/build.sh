#!/bin/sh
# build.sh BINARY DIR VERSION LEVEL: makes DIR/tidegate_VERSION_ARCHITECTURE.deb of a program that
# is built, compressed at a level of xz. DIR has the licences of what is linked (`notices.rs`). `cargo xtask package deb` calls it.
#
# The same program gives the same bytes: times are those of the changelog, and owners are root.
set -eu

binary=$1 dir=$2 version=$3 level=$4
here=$(cd "$(dirname "$0")" && pwd)
stage=$dir/tidegate
architecture=$(dpkg --print-architecture)
SOURCE_DATE_EPOCH=$(dpkg-parsechangelog --file "$here/changelog" --show-field Timestamp)
export SOURCE_DATE_EPOCH
umask 022

rm -rf "$stage" "$dir/manual"
mkdir -p "$stage/DEBIAN" "$stage/etc/tidegate" "$dir/manual"
install -d -m 700 "$stage/etc/tidegate/credentials"
put() { install -D -m 644 "$1" "$stage/$2"; }
# Without a name and a time, as `gzip -n` writes it.
put_gz() {
    mkdir -p "$(dirname "$stage/$2")"
    gzip -9n <"$1" >"$stage/$2.gz"
}

install -D -m 755 "$binary" "$stage/usr/bin/tidegate"
strip --strip-unneeded --remove-section=.comment "$stage/usr/bin/tidegate"

put "$here/tidegate.toml" etc/tidegate/tidegate.toml
for unit in "$here"/../systemd/*; do
    put "$unit" "usr/lib/systemd/system/$(basename "$unit")"
done
put "$here/sysusers.conf" usr/lib/sysusers.d/tidegate.conf
put "$here/copyright" usr/share/doc/tidegate/copyright
put_gz "$dir/tidegate_${version}_third-party.txt" usr/share/doc/tidegate/third-party.txt
put "$here/lintian-overrides" usr/share/lintian/overrides/tidegate
put_gz "$here/changelog" usr/share/doc/tidegate/changelog
put "$here/README.Debian" usr/share/doc/tidegate/README.Debian
for example in "$here"/examples/* "$here/../prometheus/tidegate.rules.yaml" \
    "$here/../grafana/tidegate.json"; do
    put "$example" "usr/share/doc/tidegate/examples/$(basename "$example")"
done

"$stage/usr/bin/tidegate" manual "$dir/manual" >/dev/null
for page in "$dir"/manual/*.1; do
    put_gz "$page" "usr/share/man/man1/$(basename "$page")"
done
complete() {
    mkdir -p "$stage/$(dirname "$2")"
    "$stage/usr/bin/tidegate" completions "$1" >"$stage/$2"
}
complete bash usr/share/bash-completion/completions/tidegate
complete zsh usr/share/zsh/vendor-completions/_tidegate
complete fish usr/share/fish/vendor_completions.d/tidegate.fish

# dpkg-shlibdeps reads a source package, of which only the names matter here.
mkdir -p "$dir/source/debian"
printf 'Source: tidegate\n\nPackage: tidegate\nArchitecture: any\n' >"$dir/source/debian/control"
libraries=$(cd "$dir/source" && dpkg-shlibdeps -O "$stage/usr/bin/tidegate" 2>/dev/null)
libraries=${libraries#shlibs:Depends=}

size=$(du -sk --apparent-size --exclude=DEBIAN "$stage" | cut -f1)
sed -e "s/\${VERSION}/$version/" -e "s/\${ARCHITECTURE}/$architecture/" \
    -e "s/\${INSTALLED_SIZE}/$size/" -e "s/\${SHARED_LIBRARIES}/$libraries/" \
    "$here/control" >"$stage/DEBIAN/control"
echo /etc/tidegate/tidegate.toml >"$stage/DEBIAN/conffiles"
for script in postinst prerm postrm; do
    install -m 755 "$here/$script" "$stage/DEBIAN/$script"
done
(cd "$stage" && find usr -type f | LC_ALL=C sort | xargs md5sum >DEBIAN/md5sums)

dpkg-deb --root-owner-group -Zxz "-z$level" --build "$stage" \
    "$dir/tidegate_${version}_${architecture}.deb" >/dev/null
rm -rf "$stage" "$dir/manual" "$dir/source"
