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
KINDS = [*ENTRIES, "sleep", "REP interrupted", "static calls patched", "ftrace patched", "module", "BPF"]
HLT, IRET = b"\xf4", b"\x48\xcf"
REP = re.compile(rb"[\xf2\xf3][\x40-\x4f]?[\xa4-\xa7\xaa-\xaf]")
JUMPS = b"\xe8\xe9"


def targets(recording):
    """Where code that is a jump or call now goes on, by its address"""
    found = collections.defaultdict(set)
    for _, address, _, new in recording.pokes:
        # What is back at the end was there in the beginning.
        if len(new) == 5 and new[0] in JUMPS and recording.kcore.bytes(address, 5) != new:
            found[address].add(address + 5 + int.from_bytes(new[1:], "little", signed=True) & (1 << 64) - 1)
    return found


def is_ftrace(symbols, address):
    name, module, offset = symbols.of(address)
    return not module and offset == 0 and not name.startswith("__SCT__")


def count(ips, recording):
    """Of each kind; `ips` is what was executed, in order"""
    often = collections.Counter(ips)
    kernel = [(ip, n, recording.kcore.bytes(ip, 3)) for ip, n in often.items() if ip >> 63]
    found = {kind: often[recording.symbols.places[symbol]] for kind, symbol in ENTRIES.items()}
    found["sleep"] = sum(n for _, n, code in kernel if code.startswith(HLT))
    patched = targets(recording)
    irets = {ip for ip, _, code in kernel if code.startswith(IRET)}
    wanted = irets | patched.keys()
    steps = collections.Counter((a, b) for a, b in zip(ips, ips[1:]) if a in wanted)
    # Back to the REP, which so has been interrupted
    found["REP interrupted"] = sum(n for (a, b), n in steps.items() if a in irets and REP.match(recording.kcore.bytes(b, 3)))
    for kind in ("static calls patched", "ftrace patched"):
        found[kind] = sum(n for (a, b), n in steps.items() if a in patched and b in patched[a] and
                          is_ftrace(recording.symbols, a) == (kind == "ftrace patched"))
    modules = [(n, *recording.symbols.of(ip)[:2]) for ip, n, _ in kernel]
    found["module"] = sum(n for n, _, module in modules if module == "[late_timer]")
    found["BPF"] = sum(n for n, name, module in modules if module == "[bpf]" and name.startswith("bpf_prog_"))
    return found
