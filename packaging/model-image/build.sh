#!/bin/sh
# build.sh DIR: makes an image of examples/fastapi-cluster on top of DIR/tidegate-python-*, in two
# stages, as one does with a model that is large. Stage one has the libraries and what the model is
# made of; stage two has the app. `make image-model` calls it.
#
# Stage one is made again only when the base, the requirements or the model have changed. So changed
# code costs a layer of kilobytes, and its size is printed.
set -eu

dir=$1
here=$(cd "$(dirname "$0")" && pwd)
root=$here/../..
app=$root/examples/fastapi-cluster
model=$root/examples/news/items.jsonl
set -- "$dir"/tidegate-python-*-image.tar
base=$1
[ -e "$base" ] || {
    echo "error: there is no image tidegate-python in \`$dir\`: make it with: make image" >&2
    exit 1
}

stage=$dir/cluster-model-image.tar
made_of=$(sha256sum "$base" "$app/requirements.txt" "$model" | cut -d ' ' -f 1 | sha256sum)
if [ "$(cat "$stage.made-of" 2>/dev/null)" != "$made_of" ] || [ ! -e "$stage" ]; then
    echo "stage one: the model"
    # For the Python of the image, which need not be the one that runs pip.
    python=$(readlink /usr/bin/python3) machine=$(uname -m)
    rm -rf "$dir/cluster-libraries"
    python3 -m pip install --quiet --disable-pip-version-check --no-warn-conflicts --no-compile \
        --only-binary :all: --implementation cp --python-version "${python#python}" \
        --platform "manylinux_2_28_$machine" --platform "manylinux2014_$machine" \
        --target "$dir/cluster-libraries" --requirement "$app/requirements.txt"
    rm -rf "$dir/cluster-libraries/bin"
    python3 "$root/packaging/make/add.py" "$base" "$stage" cluster-model:1 \
        "$dir/cluster-libraries=/srv/libraries" "$model=/srv/model/items.jsonl" \
        --env PYTHONPATH=/srv/libraries --env HEADLINES=/srv/model/items.jsonl
    rm -rf "$dir/cluster-libraries"
    echo "$made_of" >"$stage.made-of"
fi

echo "stage two: the app"
python3 "$root/packaging/make/add.py" "$stage" "$dir/cluster-image.tar" cluster:1 \
    "$app/main.py=/srv/app/main.py" "$app/models.py=/srv/app/models.py" \
    "$app/clusters.py=/srv/app/clusters.py" "$app/settings.py=/srv/app/settings.py" \
    "$here/tidegate.toml=/etc/tidegate/tidegate.toml" \
    --command "tidegate serve -c /etc/tidegate/tidegate.toml"
