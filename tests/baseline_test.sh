#!/usr/bin/env bash
# These programs and libraries have only instructions that each x86-64 processor has: they hold no wider registers than
# XMM, no mask registers, nothing in the encodings of AVX, and none of the later whole-number instructions. The loops of
# matrix products that the `lacuna` command chooses by the processor are left out. Arguments: programs and libraries.
set -euo pipefail
later='v[a-z0-9]+|andn|bextr|bls(i|r|msk)|bzhi|mulx|pdep|pext|rorx|s(ar|hl|hr)x|lzcnt|popcnt|movbe|crc32[bwlq]?|kmov[bwdq]'
later+='|addsubp[sd]|h(add|sub)p[sd]|lddqu|mov(ddup|s[hl]dup)|pshufb|palignr|pabs[bwd]|ph(add|sub)(s?w|d)|pmulhrsw'
later+='|psign[bwd]|pmaddubsw|p?blendv?(ps|pd|b|w)|dpp[sd]|(extract|insert)ps|movntdqa|mpsadbw|packusdw|pcmp(eq|gt)q'
later+='|p(ext|ins)r[bdq]|phminposuw|p(max|min)(sb|sd|ud|uw)|pmov[sz]x[a-z]+|pmul(dq|ld)|ptest|round[ps][sd]|pcmp[ei]str[im]'
later+='|pclmul[a-z]*|aes[a-z]+|sha(1|256)[a-z0-9]+'
for file in "$@"; do
  code=$(objdump -d --no-show-raw-insn "$file" |
    awk '/^[0-9a-f]+ </ { chosen = /<_ZN6lacuna9workloads.*multiply_/ } /^ +[0-9a-f]+:\t/ && !chosen')
  (($(wc -l <<<"$code") > 1000)) || { printf '%s: objdump shows no code\n' "$file" && exit 1; }
  found=$(grep -P "\t(lock |rep[nz]* |bnd )?($later)[lqw]? |%[yz]mm|%k[0-7]" <<<"$code" | grep -vP '\tver[rw] ' | head -20) || true
  [[ -z $found ]] || { printf '%s holds more than the baseline:\n%s\n' "$file" "$found" && exit 1; }
done
