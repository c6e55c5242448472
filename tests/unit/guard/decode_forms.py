# SPDX-License-Identifier: GPL-2.0-or-later
"""Instructions with memory, also such as compilers seldom write, as text for the assembler."""

# How memory is named.
ADDRESSES = ["[rax]", "[r13 + 0x40]", "[rsp - 0x80]", "[rbx + r12 * 8 + 0x12345]", "[rip + 0x777]", "[r15d + 4]",
             "fs:[rsi * 4 + 0x10]", "[rbp + r9 - 0x20]"]

# {m}: the memory. Before the colon: what {o} is.
FORMS = """
fadd fmul fcom fcomp fsub fsubr fdiv fdivr fld fst fstp: {o} dword ptr {m} | {o} qword ptr {m}
fiadd fimul ficom fisub fidiv fild fist fistp fisttp: {o} word ptr {m} | {o} dword ptr {m}
fild fistp fisttp: {o} qword ptr {m}
fld fstp fbld fbstp: {o} tbyte ptr {m}
fnstenv fldenv fnsave frstor fnstcw fldcw fnstsw fxsave fxrstor xsave xrstor xsavec64 xsaveopt ldmxcsr stmxcsr: {o} {m}
vldmxcsr vstmxcsr clflush clflushopt clwb prefetcht0 prefetchw cmpxchg8b: {o} {m}
cmpxchg16b: {o} xmmword ptr {m}
add sub and or xor adc sbb cmp test mov xchg xadd cmpxchg: {o} byte ptr {m}, r9b | {o} qword ptr {m}, r9
add sub and or xor adc sbb cmp test mov xchg xadd cmpxchg: {o} word ptr {m}, r9w | {o} dword ptr {m}, r9d
add sub and or xor adc sbb cmp test mov: {o} byte ptr {m}, 3 | {o} word ptr {m}, 0x1234 | {o} dword ptr {m}, 0x12345678
add sub and or xor adc sbb cmp test mov: {o} qword ptr {m}, -77777 | {o} word ptr {m}, 3 | {o} qword ptr {m}, 3
add sub and or xor adc sbb cmp mov: {o} r8b, byte ptr {m} | {o} r8w, word ptr {m} | {o} r8d, dword ptr {m} | {o} r8, {m}
not neg inc dec mul imul div idiv: {o} byte ptr {m} | {o} word ptr {m} | {o} dword ptr {m} | {o} qword ptr {m}
shl shr sar rol ror rcl rcr: {o} byte ptr {m}, 1 | {o} word ptr {m}, cl | {o} dword ptr {m}, 5 | {o} qword ptr {m}, 5
imul: {o} r9, {m}, 5 | {o} r9d, dword ptr {m}, 0x12345 | {o} r9w, word ptr {m}, 0x1234
lock: {o} inc dword ptr {m} | {o} add qword ptr {m}, 5 | {o} xadd {m}, r9d | {o} bts dword ptr {m}, 3
bt bts btr btc: {o} dword ptr {m}, 3 | {o} qword ptr {m}, 63 | {o} word ptr {m}, 1
movzx movsx: {o} eax, byte ptr {m} | {o} r9, word ptr {m} | {o} ax, byte ptr {m}
movsxd: {o} r9, dword ptr {m}
push pop: {o} qword ptr {m} | {o} word ptr {m}
call jmp: {o} qword ptr {m}
shld shrd: {o} dword ptr {m}, eax, 5 | {o} qword ptr {m}, rax, cl
movbe: {o} {m}, ax | {o} {m}, eax | {o} rax, {m} | {o} cx, {m}
crc32: {o} eax, byte ptr {m} | {o} eax, dword ptr {m} | {o} rax, qword ptr {m} | {o} eax, word ptr {m}
popcnt lzcnt tzcnt bsf bsr cmovne cmovs: {o} ax, {m} | {o} eax, {m} | {o} rax, {m}
adcx adox: {o} eax, {m} | {o} rax, {m}
andn pdep pext mulx: {o} eax, ebx, {m} | {o} rax, rbx, {m}
bzhi bextr shlx sarx shrx: {o} eax, {m}, ebx | {o} rax, {m}, rbx
blsr blsmsk blsi: {o} eax, {m} | {o} rax, {m}
rorx: {o} eax, {m}, 5 | {o} rax, {m}, 5
sete setnle: {o} byte ptr {m}
movnti: {o} {m}, eax | {o} {m}, rax
mov: {o} {m}, ds | {o} ds, {m}
movss movups movaps movupd movsd movapd movdqa movdqu movq movd: {o} xmm9, {m} | {o} {m}, xmm9
movlps movhps movlpd movhpd: {o} xmm1, {m} | {o} {m}, xmm1
movntps movntpd movntdq: {o} {m}, xmm9
movddup movsldup movshdup lddqu movntdqa: {o} xmm3, {m}
addps addpd addss addsd mulss divpd minps maxsd sqrtss sqrtpd rsqrtss rcpps andps xorpd orps unpcklps: {o} xmm1, {m}
cvtps2pd cvtpd2ps cvtss2sd cvtsd2ss cvtdq2ps cvtdq2pd cvtpd2dq cvttps2dq cvttpd2dq ucomiss comisd: {o} xmm1, {m}
cvtsi2sd cvtsi2ss: {o} xmm1, dword ptr {m} | {o} xmm1, qword ptr {m}
cvttss2si cvtsd2si: {o} eax, {m} | {o} rax, {m}
cvtpi2ps cvtpi2pd: {o} xmm1, {m}
cvtps2pi cvttpd2pi: {o} mm1, {m}
paddb psubd pxor por pand pcmpeqb packuswb punpcklbw punpckhdq pmaddwd psllw psrad psrlq pavgb pshufb: {o} mm3, {m}
paddb psubd pxor por pand pcmpeqb packuswb punpcklbw punpckhdq pmaddwd psllw psrad psrlq pavgb pshufb: {o} xmm9, {m}
movq movd: {o} mm3, {m} | {o} {m}, mm3
pmovsxbw pmovsxbd pmovzxbq pmovsxwd pmovzxwq pmovzxdq: {o} xmm9, {m}
pextrb pextrw pextrd pextrq extractps: {o} {m}, xmm1, 1
pinsrb pinsrw pinsrd pinsrq insertps roundss roundsd roundps shufps cmpps cmpsd pshufd pshuflw: {o} xmm1, {m}, 1
pcmpistri pcmpestrm dpps mpsadbw pblendw palignr aeskeygenassist pclmulqdq sha1rnds4 gf2p8affineqb: {o} xmm1, {m}, 1
aesenc aesdeclast aesimc sha256msg1 sha1nexte ptest pabsd phaddw pmulld gf2p8mulb: {o} xmm1, {m}
vmovups vmovapd vmovdqu: {o} ymm9, {m} | {o} {m}, ymm9 | {o} xmm9, {m} | {o} {m}, xmm9 | {o} zmm9, {m}
vmovss vmovsd vmovq vmovd vmovlps: {o} {m}, xmm9
vaddps vmulpd vpaddd vpxor vandps: {o} ymm1, ymm2, {m} | {o} xmm1, xmm2, {m}
vaddss vmulsd vdivss vminsd vsqrtss vcvtss2sd vcvtsd2ss: {o} xmm1, xmm2, {m}
vbroadcastss vpbroadcastb vpbroadcastw vpbroadcastd vpbroadcastq: {o} ymm1, {m} | {o} xmm1, {m} | {o} zmm1, {m}
vbroadcastsd vbroadcastf128 vbroadcasti128: {o} ymm1, {m}
vmovddup vmovsldup vcvtps2pd vcvtdq2pd: {o} ymm1, {m} | {o} zmm1, {m}
vcvtpd2ps vcvttpd2dq: {o} xmm1, ymmword ptr {m} | {o} ymm1, zmmword ptr {m}
vcvtph2ps: {o} xmm1, {m} | {o} ymm1, {m} | {o} zmm1, {m}
vcvtps2ph: {o} {m}, xmm1, 0 | {o} {m}, ymm1, 0 | {o} {m}, zmm1, 0
vextractf128 vextracti128: {o} {m}, ymm1, 1
vinsertf128 vinserti128 vperm2f128 vperm2i128 vblendps: {o} ymm1, ymm2, {m}, 1
vpermq vpermpd vpermilps: {o} ymm1, {m}, 1 | {o} zmm1, {m}, 1
vpsllw vpsrad vpsrlq: {o} ymm1, ymm2, xmmword ptr {m} | {o} zmm1, zmm2, xmmword ptr {m}
vpslld vpsraw: {o} zmm1, zmmword ptr {m}, 3
vmaskmovps vpmaskmovq: {o} ymm1, ymm2, {m} | {o} {m}, ymm1, ymm2
vpmovsxbw vpmovsxbd vpmovzxbq vpmovzxdq: {o} ymm1, {m} | {o} zmm1, {m}
vfmadd213ps vfnmsub231pd: {o} ymm1, ymm2, {m} | {o} zmm1, zmm2, {m}
vfmadd132ss vfmsub213sd vfnmadd231ss: {o} xmm1, xmm2, {m}
vpblendvb vblendvps: {o} ymm1, ymm2, {m}, ymm3
vpmulld vpshufb vpmaxud: {o} zmm1, zmm2, {m}
vpsllvd vpsrlvq: {o} ymm1, ymm2, {m} | {o} zmm1, zmm2, {m}
vmovdqu8 vmovdqu64 vmovdqa32: {o} zmm1, {m} | {o} ymm1, {m} | {o} {m}, zmm1 | {o} xmm17, {m} | {o} {m}, ymm18
vmovdqu8 vmovdqu64: {o} zmm1{{k1}}, {m} | {o} {m}{{k3}}, ymm18
vaddps vpaddd vpternlogd: {o} zmm1, zmm2, zmmword ptr {m}
vaddpd vpaddq vpandq: {o} zmm1, zmm2, qword ptr {m}{{1to8}} | {o} ymm1, ymm2, qword ptr {m}{{1to4}}
vaddps vpord vfmadd213ps: {o} zmm1, zmm2, dword ptr {m}{{1to16}} | {o} xmm1, xmm2, dword ptr {m}{{1to4}}
vcvtps2pd vcvtdq2pd vcvtps2qq: {o} zmm1, dword ptr {m}{{1to8}}
vcvtps2qq vcvttps2uqq vcvtudq2pd: {o} zmm1, ymmword ptr {m}
vcvtpd2qq vcvtqq2pd vcvtuqq2ps vcvtudq2ps vcvtps2udq vcvttpd2uqq: {o} zmm1, zmmword ptr {m} | {o} xmm1, xmmword ptr {m}
vcvtusi2sd: {o} xmm1, xmm2, dword ptr {m} | {o} xmm1, xmm2, qword ptr {m}
vcvttss2usi vcvtsd2usi: {o} eax, {m} | {o} rax, {m}
vmovss vmovsd: {o} xmm20, {m}
vaddss vmulsd vgetexpss vscalefsd vrcp14ss vrsqrt14sd: {o} xmm20, xmm21, {m}
vrndscaless vgetmantsd vrangess vreducesd vfixupimmss: {o} xmm20, xmm21, {m}, 1
vpermd vpermps: {o} zmm1, zmm2, {m} | {o} ymm1, ymm2, {m}
vinserti32x4 vinserti64x2: {o} zmm1, zmm2, {m}, 1
vinserti64x4 vinserti32x8: {o} zmm1, zmm2, {m}, 1
vextracti32x4 vextracti64x2: {o} {m}, zmm1, 1
vextracti64x4 vextracti32x8: {o} {m}, zmm1, 1
vbroadcasti32x4 vbroadcasti64x4 vbroadcasti32x8 vbroadcasti32x2: {o} zmm1, {m}
vpmovwb vpmovdb vpmovqb vpmovdw vpmovqw vpmovqd vpmovsdb vpmovusqd: {o} {m}, zmm1 | {o} {m}, ymm1 | {o} {m}, xmm1
vpcompressd vpcompressb vcompresspd: {o} {m}{{k1}}, zmm1
vpexpandd vpexpandw vexpandpd: {o} zmm1{{k1}}, {m}
vpcmpeqd vpcmpgtq vptestmd: {o} k1, zmm1, {m}
vpcmpud vcmpps: {o} k1, zmm1, {m}, 1
vfpclassss vfpclasssd: {o} k1, {m}, 1
kmovb kmovw kmovd kmovq: {o} k1, {m} | {o} {m}, k1
vpshufd vpshufhw valignq: {o} zmm1, {m}, 3 | {o} zmm1, zmm2, {m}, 3
vmovntps vmovntdq: {o} {m}, zmm1
vmovntdqa: {o} zmm1, {m}
vpdpbusd vpopcntd vpconflictd vplzcntq vpshldvd: {o} zmm1, {m} | {o} zmm1, zmm2, {m}
"""

# Without such memory, or with one form alone.
LINES = """
vpgatherdd zmm1{k1}, [rax + zmm2 * 4]
vgatherdpd ymm1, [rax + xmm2 * 8], ymm3
vpscatterqq [rax + zmm2 * 8]{k1}, zmm3
rep movsb
rep movsq
movsw
rep stosd
stosb
repe cmpsb
cmpsq
repne scasb
scasd
lodsq
lodsb
push r12
pop r9
push 5
push 0x12345
pushfq
popfq
leave
ret
ret 16
call .
xlat
movabs al, [0x1122334455667788]
movabs [0x1122334455667788], eax
movabs rax, [0x1122334455667788]
fs lodsb
bt dword ptr [rax], ecx
pop qword ptr [rsp + 8]
mov rax, fs:0x28
mov word ptr [rip + 5], 0x1234
cmp byte ptr [rip + 5], 0
test dword ptr [rip + 5], 0x12345678
maskmovdqu xmm1, xmm2
"""


def lines():
    """The text, line by line. Forms that this memory or these registers can't have are left out by `assembled`."""
    for form in FORMS.strip().splitlines():
        operations, patterns = form.split(":", 1)
        for operation in operations.split():
            for pattern in patterns.split(" | "):
                for memory in ADDRESSES:
                    yield pattern.strip().format(o=operation, m=memory)
    yield from LINES.strip().splitlines()
