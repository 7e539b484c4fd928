import SheafSystem
import SheafTransfer

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The progress of an export on a terminal, and the signals that end the export.
final class ExportMeter {
    private let isShown = isatty(STDERR_FILENO) == 1
    private let start = Clock.system.monotonicNanoseconds() / 1_000_000
    private var next: UInt64 = 0
    private var isDirty = false

    /// The signals that end an export to a file, whose temporary file must be removed.
    private let signals: StopSignals?

    /// Milliseconds between two updates.
    private static let interval: UInt64 = 200

    init(_ signals: StopSignals?) {
        self.signals = signals
    }

    /// The receiver of reports, which shows them if standard error is a terminal.
    var progress: ExportProgress {
        ExportProgress { [self] (report) throws(ExportError) in
            if signals?.wait(milliseconds: 0) == true {
                throw .failed("interrupted; the file was not written")
            }
            show(report)
        }
    }

    /// Shows a report, if standard error is a terminal.
    func show(_ report: ExportProgress.Report) {
        guard isShown else { return }
        let now = Clock.system.monotonicNanoseconds() / 1_000_000
        guard now >= next else { return }
        next = now + Self.interval
        isDirty = true
        switch report {
        case .scanned(let rows): write("finding the columns: \(Quantity.count(rows, "row"))")
        case .written(let rows, let bytes):
            let rate = UInt64(rows) * 1_000 / max(1, now - start)
            write(
                Quantity.count(rows, "row") + (bytes.map { ", " + Quantity.bytes($0) } ?? "")
                    + ", \(rate) rows/s")
        }
    }

    /// Removes the line.
    func clear() {
        guard isDirty else { return }
        isDirty = false
        write("")
    }

    private func write(_ text: String) {
        OperatingSystem.writeToStandardError("\r\(text)\u{1B}[K")
    }
}
