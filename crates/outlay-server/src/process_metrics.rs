//! Processor time, memory and open files of this process, with the names that Prometheus clients
//! give them. They are read from `/proc`; on other systems there are none.

use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;

/// Resource usage of this process.
#[derive(Debug, Clone, Copy, PartialEq)]
struct ProcessUse {
    cpu_seconds: f64,
    resident_bytes: f64,
    virtual_bytes: f64,
    threads: f64,
    open_files: f64,
    max_files: f64,
    /// Since 1970.
    started_seconds: f64,
}

#[derive(Debug)]
pub(crate) struct ProcessCollector;

impl Collector for ProcessCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let Some(used) = read() else { return Ok(()) };
        let encoder = &mut encoder;
        let help = "User and system time of this process";
        let cpu =
            encoder.encode_descriptor("process_cpu_seconds", help, None, MetricType::Counter)?;
        ConstCounter::new(used.cpu_seconds).encode(cpu)?;
        let gauges = [
            ("process_resident_memory_bytes", "Memory in use", used.resident_bytes),
            ("process_virtual_memory_bytes", "Address space in use", used.virtual_bytes),
            ("process_threads", "Threads", used.threads),
            ("process_open_fds", "Open files and connections", used.open_files),
            ("process_max_fds", "Largest number of open files", used.max_files),
            ("process_start_time_seconds", "When it started, since 1970", used.started_seconds),
        ];
        for (name, help, number) in gauges {
            let gauge = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
            ConstGauge::new(number).encode(gauge)?;
        }
        Ok(())
    }
}

#[cfg(target_os = "linux")]
fn read() -> Option<ProcessUse> {
    let text = |path: &str| std::fs::read_to_string(path).ok();
    let open_files = std::fs::read_dir("/proc/self/fd").ok()?.count();
    let used = parse(&text("/proc/self/stat")?, &text("/proc/self/limits")?, &text("/proc/stat")?)?;
    Some(ProcessUse { open_files: open_files as f64, ..used })
}

#[cfg(not(target_os = "linux"))]
fn read() -> Option<ProcessUse> {
    None
}

/// From the files `/proc/self/stat`, `/proc/self/limits` and `/proc/stat`.
#[cfg(target_os = "linux")]
fn parse(stat: &str, limits: &str, system: &str) -> Option<ProcessUse> {
    let ticks = rustix::param::clock_ticks_per_second() as f64;
    // The name of the program may contain anything, so fields are counted from its end.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let field = |number: usize| fields.get(number - 3)?.parse::<f64>().ok();
    Some(ProcessUse {
        cpu_seconds: (field(14)? + field(15)?) / ticks,
        threads: field(20)?,
        started_seconds: number_after(system, "btime")? + field(22)? / ticks,
        virtual_bytes: field(23)?,
        resident_bytes: field(24)? * rustix::param::page_size() as f64,
        max_files: number_after(limits, "Max open files").unwrap_or(f64::INFINITY),
        open_files: 0.0,
    })
}

/// The first number of the line that starts like this.
#[cfg(target_os = "linux")]
fn number_after(text: &str, start: &str) -> Option<f64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(start))?;
    rest.split_whitespace().next()?.parse().ok()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_behind_any_name() {
        let numbers: Vec<String> = (4..=52).map(|number| (number * 100).to_string()).collect();
        let stat = format!("7 (a) b (c) S {}", numbers.join(" "));
        let limits = "Limit  Soft  Hard  Units\nMax open files  1024  4096  files\n";
        let used = parse(&stat, limits, "cpu 1 2\nbtime 1000\n").unwrap();
        let ticks = rustix::param::clock_ticks_per_second() as f64;
        assert_eq!((used.cpu_seconds, used.threads), (2900.0 / ticks, 2000.0));
        assert_eq!(used.started_seconds, 1000.0 + 2200.0 / ticks);
        assert_eq!((used.virtual_bytes, used.max_files), (2300.0, 1024.0));
        assert_eq!(parse("7 (short) S 1", limits, "btime 1"), None);
    }

    #[test]
    fn this_process_uses_something() {
        let used = read().unwrap();
        assert!(used.resident_bytes > 1e5 && used.virtual_bytes >= used.resident_bytes, "{used:?}");
        assert!(used.threads >= 1.0 && used.open_files >= 3.0 && used.started_seconds > 1e9);
    }
}
