#!/usr/bin/env bash
# Makes echarts.js.zst of the parts of Apache ECharts that charts.js names. Needs npm and zstd; run it for a new version,
# then set the version in LICENSE.txt and README.md.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --no-audit --no-fund echarts@6.1.0 zrender@6.1.0 esbuild@0.28.2 >/dev/null
node node_modules/esbuild/install.js
cp "$here/charts.js" .
npx esbuild charts.js --bundle --minify --format=iife --global-name=echarts --legal-comments=none \
    --define:process.env.NODE_ENV='"production"' --outfile=echarts.js
zstd -19 -q -f echarts.js -o "$here/echarts.js.zst"
ls -l "$here/echarts.js.zst"
