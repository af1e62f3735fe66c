# SPDX-License-Identifier: GPL-2.0-only
"""Several CPUs held together, and several captures in a row."""
import hardware
import common  # the path is set by hardware

# The session stops the trace while the CPU runs on.
ERRORS_OF_OTHERS = hardware.ERRORS_MAX["signal"]


class Sessions(hardware.PtTest):
    def cpus_of(self, about):
        return [trace["cpu"] for trace in about["recorder"]["traces"]]

    def test_freeze_all(self):
        cpus = common.find_cpus(2)
        about = self.take(cpus, cpus[1], 1, "--freeze-all")[0]
        self.assertEqual(self.cpus_of(about), cpus)
        self.assertIn(about["spike"]["cpu"], cpus)
        for cpu in cpus:
            self.decode(about, cpu, ERRORS_OF_OTHERS)

    def test_the_spikes_cpu_only(self):
        cpus = common.find_cpus(2)
        about = self.take(cpus, cpus[1], 1)[0]
        self.assertEqual(self.cpus_of(about), [about["spike"]["cpu"]])

    def test_ten_in_a_row(self):
        """No capture has a byte of the one before."""
        cpu = common.find_cpus(1)[0]
        way = next(way for way in self.ways() if way != "sample")
        end_ns, with_trace = 0, 0
        for about in self.take([cpu], cpu, 10, "--freeze", way):
            # Another spike may come right after re-arming.
            trace = self.decode(about, cpu, hardware.ERRORS_MAX[way], branches_min=0)
            if not trace.branches:
                continue
            self.assertGreater(trace.first_ns, end_ns)
            self.assertLessEqual(trace.last_ns,
                                 about["spike"]["time_ns"] + about["skid_ns"] + hardware.CLOCK_NS)
            end_ns = trace.last_ns
            with_trace += 1
        self.assertGreater(with_trace, 5)


hardware.main()
