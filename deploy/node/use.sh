# Sourced with $root set: makes `node` and `npm` ones that the console's tools run on. Debian 12 has Node 18;
# a newer one comes as packages of npm, pinned with their checksums by the lock file beside this.

# node_is_new_enough: the tools name 20.19 as their oldest.
node_is_new_enough() {
  node -e 'const [major, minor] = process.versions.node.split(".").map(Number);
           process.exit(major > 20 || (major === 20 && minor >= 19) ? 0 : 1)' 2>/dev/null
}

# install_packages FOLDER: npm ci, unless its packages are those of its lock file.
install_packages() {
  if ! cmp -s "$1/package-lock.json" "$1/node_modules/.flamegate-lock"; then
    (cd "$1" && npm ci --no-progress --loglevel=error)
    cp "$1/package-lock.json" "$1/node_modules/.flamegate-lock"
  fi
}

if ! node_is_new_enough; then
  install_packages "$root/deploy/node"
  # npm links no program of the name node.
  for program in "$root"/deploy/node/node_modules/node-linux-*/bin; do PATH=$program:$PATH; done
  export PATH="$root/deploy/node/node_modules/.bin:$PATH"
  node_is_new_enough || { echo "no Node 20.19 or newer for this machine: $(uname -m)" >&2; exit 1; }
fi
