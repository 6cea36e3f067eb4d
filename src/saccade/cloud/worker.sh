#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
#
# What every host of a TPU slice does, told so over ssh by launch/tpu.py. Each may be told twice: gcloud repeats a
# command whose connection broke. So the training does not hang on a connection: it is started in a session of its own,
# holds a lock as long as it lives, and is followed by whoever asks.
#
#   look BUCKET COMMAND...    0: no training is at work; 75: this one is; 76: another one is
#   prepare BUCKET            mount the bucket, and install what pyproject.toml asks for, unless both is done
#   start BUCKET COMMAND...   start the training, in the bucket's folder
#   follow                    print what it prints until it ends, and end with its status
#   stop                      have it save and end
set -euo pipefail

HOME_FOLDER="$HOME/saccade" # of the code, the environment, the buckets, and these:
LOCK="$HOME_FOLDER/lock" COMMAND="$HOME_FOLDER/command" STATUS="$HOME_FOLDER/status"
LOG="$HOME_FOLDER/log" PROCESS="$HOME_FOLDER/process" FOLLOWED="$HOME_FOLDER/followed" STOPPED="$HOME_FOLDER/stopped"
NAME="worker ${HOSTNAME##*-w-}" # hosts of a slice are called ...-w-0, ...-w-1

idle() {
  flock --shared --nonblock "$LOCK" true
}

ended() {
  flock --shared "$LOCK" true
}

look() {
  if idle; then exit 0; fi
  if [[ "$(printf '%q ' "$@")" == "$(cat "$COMMAND")" ]]; then exit 75; fi
  exit 76
}

prepare() {
  exec 8> "$HOME_FOLDER/preparing"
  flock 8 # one that was told before may be at it still
  mount_bucket "$1"
  install
}

mount_bucket() {
  local folder="$HOME_FOLDER/buckets/$1"
  stat "$folder" &> /dev/null || fusermount -u "$folder" &> /dev/null || true # what a mount leaves that has died
  mkdir -p "$folder"
  if mountpoint --quiet "$folder"; then return; fi
  command -v gcsfuse > /dev/null || install_gcsfuse
  # Hosts see at once what another has written, and a folder of a checkpoint may get its final name.
  gcsfuse --implicit-dirs --rename-dir-limit=100000 \
    --metadata-cache-ttl-secs=0 --metadata-cache-negative-ttl-secs=0 "$1" "$folder" 8>&-
}

install_gcsfuse() { # as https://cloud.google.com/storage/docs/cloud-storage-fuse/install has it
  local key=/usr/share/keyrings/cloud.google.asc packages=https://packages.cloud.google.com/apt
  curl --silent --show-error --fail "$packages/doc/apt-key.gpg" | sudo tee "$key" > /dev/null
  echo "deb [signed-by=$key] $packages gcsfuse-$(lsb_release -cs) main" |
    sudo tee /etc/apt/sources.list.d/gcsfuse.list > /dev/null
  sudo apt-get -o DPkg::Lock::Timeout=600 -qq update # a host that has just begun may be updating itself
  sudo apt-get -o DPkg::Lock::Timeout=600 -qq install --yes gcsfuse > /dev/null
}

install() {
  local asked
  asked="$(sha256sum < "$HOME_FOLDER/code/pyproject.toml")"
  if [[ "$(cat "$HOME_FOLDER/venv/installed" 2> /dev/null)" == "$asked" ]]; then return; fi
  rm -rf "$HOME_FOLDER/venv"
  make_venv
  "$HOME_FOLDER/venv/bin/python" -m pip install --quiet --disable-pip-version-check --editable "$HOME_FOLDER/code[tpu]"
  echo "$asked" > "$HOME_FOLDER/venv/installed"
}

make_venv() {
  local python
  for python in python3.13 python3.12 python3.11 python3; do
    if "$python" -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' &> /dev/null; then
      "$python" -m venv "$HOME_FOLDER/venv"
      return
    fi
  done
  # Google's images of Ubuntu 22.04 have Python 3.10 alone; uv brings a newer one.
  PIP_BREAK_SYSTEM_PACKAGES=1 python3 -m pip install --quiet --user uv
  python3 -m uv venv --quiet --seed --python 3.12 "$HOME_FOLDER/venv"
}

start() {
  exec 9> "$LOCK"
  flock --timeout 2 9 || exit 75
  printf '%q ' "$@" > "$COMMAND"
  rm -f "$STATUS" "$FOLLOWED" "$STOPPED"
  setsid bash "$0" run "$@" < /dev/null &> "$LOG" &
}

run() {
  local status=0 told=
  trap 'told=yes' TERM # is for the training, which saves and ends well; by its status one knows that it has not finished
  echo $$ > "$PROCESS"
  cd "$HOME_FOLDER/buckets/$1"
  shift
  PYTHONPATH="$HOME_FOLDER/code" PYTHONUNBUFFERED=1 env "$@" || status=$?
  if [[ "$told" && ! -e "$STOPPED" ]]; then status=143; fi # this host is shut down
  if [[ "$status" == 143 && -e "$STOPPED" ]]; then status=0; fi
  echo "$status" > "$STATUS"
}

follow() {
  local from=+1 status
  [[ -e "$LOG" ]] || { echo "$NAME: no training was started here" && exit 1; }
  [[ ! -e "$FOLLOWED" ]] || from=20 # it is followed again: the rest was seen
  touch "$FOLLOWED"
  ended &
  tail --lines="$from" --follow --sleep-interval=0.2 --pid=$! "$LOG" | sed --unbuffered "s/^/$NAME: /"
  status="$(cat "$STATUS" 2> /dev/null || echo 137)" # one that was killed wrote none
  [[ "$status" == 0 ]] || echo "$NAME: the training ended with status $status"
  exit "$status"
}

stop() {
  if idle; then exit 0; fi
  touch "$STOPPED"
  kill -TERM -- "-$(cat "$PROCESS")"
  ended
}

"$@"
