# SPDX-License-Identifier: GPL-2.0-only
"""One late timer is one capture, whatever holds the trace; stock perf decodes it up to the spike."""
import os

import hardware
import common  # the path is set by hardware

# Trace after the spike against that before: the CPU spins before, and handles the spike after.
RATE_MAX = 50
# What stopping writes (TSC, TMA, FUP, TIP.PGD), and a synchronisation point.
EDGE_BYTES = 128


class Spike(hardware.PtTest):
    def check_facts(self, about, way):
        self.assertEqual(about["recorder"]["kind"], "pt")
        self.assertEqual(about["recorder"]["freeze"], way)
        self.assertTrue(about["recorder"]["kcore"], "the kernel's code is not in the capture")
        self.assertTrue(os.path.getsize(os.path.join(about["path"], "perf.data/kcore_dir/kcore")))
        self.assertGreaterEqual(about["spike"]["latency_ns"], about["threshold_ns"])
        self.assertLess(about["spike"]["latency_ns"], 20 * hardware.SPIN_US * 1000)

    def check_end(self, about, trace):
        """By the trace's own clock: it ends at the spike, and not after it was said to stand still."""
        skid_ns = trace.last_ns - about["spike"]["time_ns"]
        print("  skid by the trace %d ns, told %d ns" % (skid_ns, about["skid_ns"]), flush=True)
        self.assertGreater(about["skid_ns"], 0)
        self.assertLessEqual(skid_ns, about["skid_ns"] + hardware.CLOCK_NS)
        self.assertGreater(skid_ns, -hardware.QUIET_NS_MAX, "the trace ends long before the spike")

    def check_size(self, about, trace):
        """What is told of the history is what is there, and in the trace's size."""
        length_ns = trace.last_ns - trace.first_ns
        size = about["recorder"]["traces"][0]["bytes"]
        print("  %d bytes, %.3f ms: %.0f bytes per ms" % (size, length_ns / 1e6, size / length_ns * 1e6), flush=True)
        history_ns = about["spike"]["time_ns"] - trace.first_ns
        self.assertGreater(history_ns, 0)
        self.assertLess(abs(about["history_ns"] - history_ns), hardware.QUIET_NS_MAX + hardware.CLOCK_NS)
        self.assertLessEqual(size, about["recorder"]["buffer_size"])

    def check_bytes_after(self, about, trace):
        """The bytes told to be after the spike fit the branches that the decoder puts there, and the skid by the trace."""
        told, exact = about["bytes_after_spike"], about["bytes_after_spike_exact"]
        self.assertIsNotNone(told, "the trace tells no time")
        size = about["recorder"]["traces"][0]["bytes"]
        skid_ns = max(trace.last_ns - about["spike"]["time_ns"], 0)
        print("  %s%s bytes after the spike, %d branches, in %d ns of skid by the trace: %.0f bytes per ms" % (
            "" if exact else "at most ", told, trace.branches_after_spike, skid_ns, told / max(skid_ns, 1) * 1e6), flush=True)
        self.assertLessEqual(told, size)
        # A byte of TNT is of up to 6 branches. Direct calls and jumps take none, but a CYC goes with each TNT and TIP.
        self.assertGreaterEqual(told * 6, trace.branches_after_spike)
        # As much trace as there was in the time before the spike, in the same time: but for bursts, by far.
        rate = (size - told) / max(about["spike"]["time_ns"] - trace.first_ns, 1)
        self.assertLessEqual(told, RATE_MAX * rate * (skid_ns + hardware.QUIET_NS_MAX) + EDGE_BYTES)

    def check_program(self, trace):
        """What made the timer late is in the trace, before the spike."""
        if hardware.SIMULATED:
            self.assertTrue([name for name in trace.functions if name.startswith("ptsim_")], trace.functions)
        else:
            seen = [name for name in trace.functions if "late_spin" in name or "bpf_loop" in name]
            self.assertTrue(seen, sorted(trace.functions)[:50])

    def check_script(self, about):
        result = common.run_ctl("script", about["path"], timeout=300)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("perf version", result.stderr)
        self.assertTrue(result.stdout.strip(), "script shows nothing")

    def check_way(self, way, *args):
        cpu = common.find_cpus(1)[0]
        self.output = os.path.join(self.folder, way + "-".join(args))
        about = self.take([cpu], cpu, 1, *args)[0]
        print("%s %s:" % (way, " ".join(args)), flush=True)
        self.check_facts(about, way)
        trace = self.decode(about, cpu, hardware.ERRORS_MAX[way])
        self.check_end(about, trace)
        self.check_size(about, trace)
        self.check_bytes_after(about, trace)
        self.check_program(trace)
        self.check_script(about)

    def test_each_way(self):
        for way in self.ways():
            self.check_way(way, "--freeze", way)

    def test_auto_is_the_best(self):
        self.check_way(self.ways()[0])


hardware.main()
