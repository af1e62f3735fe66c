# SPDX-License-Identifier: GPL-2.0-only
"""What happens in a window, counted from what was executed, not from what a decoder makes of it."""
import collections
import re

ENTRIES = {
    "timer interrupts": "asm_sysvec_apic_timer_interrupt",
    "page faults": "asm_exc_page_fault",
    "system calls": "entry_SYSCALL_64",
    "context switches": "__switch_to_asm",
    "int3": "asm_exc_int3",
}
# The kernel switches static keys of its own too.
KINDS = [
    *ENTRIES, "sleep", "REP interrupted", "static calls patched", "ftrace patched", "module", "BPF",
    "static keys patched", "late_timer's that jump", "late_timer's that do not",
    "late_timer's of two bytes"
]
MODULE = "[late_timer]"
HLT, IRET = b"\xf4", b"\x48\xcf"
REP = re.compile(rb"[\xf2\xf3][\x40-\x4f]?[\xa4-\xa7\xaa-\xaf]")
JUMPS = b"\xe8\xe9"
# What a static key switches on and off, by its length
JUMP = {2: 0xeb, 5: 0xe9}
NO_JUMP = {2: b"\x66\x90", 5: b"\x0f\x1f\x44\x00\x00"}


def target(address, code):
    return address + len(code) + int.from_bytes(code[1:], "little", signed=True) & (1 << 64) - 1


def key_targets(recording):
    """Where the jump goes that a static key has switched on or off, for each time"""
    for _, address, old, new in recording.pokes:
        no_jump = NO_JUMP.get(len(new))
        jump = new if old == no_jump else old
        if no_jump in (old, new) and len(jump) == len(new) and jump[0] == JUMP[len(new)]:
            yield address, len(new), target(address, jump)


def targets(recording, keys):
    """Where code that is a jump or call now goes on, by its address"""
    found = collections.defaultdict(set)
    for _, address, _, new in recording.pokes:
        # What is back at the end was there in the beginning.
        if len(new) == 5 and new[0] in JUMPS and address not in keys and recording.kcore.bytes(
                address, 5) != new:
            found[address].add(target(address, new))
    return found


def is_ftrace(symbols, address):
    name, module, offset = symbols.of(address)
    # Where a function begins, or behind endbr64
    return not module and offset in (0, 4) and not name.startswith("__SCT__")


def count(ips, recording):
    """Of each kind; `ips` is what was executed, in order"""
    often = collections.Counter(ips)
    kernel = [(ip, n, recording.kcore.bytes(ip, 3)) for ip, n in often.items() if ip >> 63]
    found = {kind: often[recording.symbols.places[symbol]] for kind, symbol in ENTRIES.items()}
    found["sleep"] = sum(n for _, n, code in kernel if code.startswith(HLT))
    switched = list(key_targets(recording))
    keys = {address: (size, to) for address, size, to in switched}
    patched = targets(recording, keys)
    irets = {ip for ip, _, code in kernel if code.startswith(IRET)}
    wanted = irets | patched.keys() | keys.keys()
    steps = collections.Counter((a, b) for a, b in zip(ips, ips[1:]) if a in wanted)
    # Back to the REP, which so has been interrupted
    found["REP interrupted"] = sum(n for (a, b), n in steps.items()
                                   if a in irets and REP.match(recording.kcore.bytes(b, 3)))
    for kind in ("static calls patched", "ftrace patched"):
        found[kind] = sum(n for (a, b), n in steps.items() if a in patched and b in patched[a] and
                          is_ftrace(recording.symbols, a) == (kind == "ftrace patched"))
    own = [(n, b - a, b, *keys[a]) for (a, b), n in steps.items()
           if a in keys and recording.symbols.of(a)[1] == MODULE]
    found.update(zip(KINDS[-4:], (len(switched), sum(n for n, _, b, _, to in own if b == to),
                            sum(n for n, length, _, size, _ in own if length == size),
                            sum(n for n, _, _, size, _ in own if size == 2))))
    modules = [(n, *recording.symbols.of(ip)[:2]) for ip, n, _ in kernel]
    found["module"] = sum(n for n, _, module in modules if module == MODULE)
    found["BPF"] = sum(n for n, name, module in modules
                       if module == "[bpf]" and name.startswith("bpf_prog_"))
    return found
