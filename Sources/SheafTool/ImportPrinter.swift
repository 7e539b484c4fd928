import SheafBytes
import SheafDocument
import SheafSystem
import SheafTransfer

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The messages of an import: its progress on a terminal, bad rows, and the result.
struct ImportPrinter {
    private let file: String
    private let collection: String
    private let output: Output
    private let isTerminal = isatty(STDERR_FILENO) == 1
    private let started = Clock.system.monotonicNanoseconds()
    private var printedAt: UInt64 = 0
    private var hasProgressLine = false
    /// Number of bad rows printed.
    private var listedCount = 0
    /// Number of bad rows that are not listed in the report.
    private var unlistedCount: UInt64 = 0
    private static let interval: UInt64 = 200_000_000

    init(_ file: String, _ collection: String, _ output: Output) {
        self.file = file == InputBuffer.standardInput ? "standard input" : file
        self.collection = collection
        self.output = output
    }

    /// Prints new bad rows, and the progress if it is due.
    mutating func print(_ report: ImportReport) {
        printBadRows(report)
        let now = Clock.system.monotonicNanoseconds()
        guard isTerminal, now - printedAt >= Self.interval else { return }
        printedAt = now
        let seconds = seconds(until: now)
        var text = "\r\u{1B}[K\(Self.grouped(report.rowCount)) rows"
        if seconds > 0 {
            text += ", \(Self.grouped(UInt64(Double(report.rowCount) / seconds))) rows/s"
        }
        let done = report.position.offset - report.start.offset
        if let end = report.end, end > report.position.offset, done > 0 {
            let rest = Double(end - report.position.offset) / Double(done) * seconds
            text += ", \(Self.duration(rest)) left"
        }
        OperatingSystem.writeToStandardError(text)
        hasProgressLine = true
    }

    /// Removes the progress from the terminal, and prints the number of bad rows not listed.
    mutating func fail() {
        clear()
        printUnlisted()
    }

    private func printUnlisted() {
        guard unlistedCount > 0, listedCount > 0 else { return }
        output.printError("and \(Self.count(unlistedCount, "more bad row"))")
    }

    /// Removes the progress from the terminal.
    private mutating func clear() {
        guard hasProgressLine else { return }
        OperatingSystem.writeToStandardError("\r\u{1B}[K")
        hasProgressLine = false
    }

    /// Prints the result.
    mutating func finish(_ report: ImportReport) {
        clear()
        printBadRows(report)
        printUnlisted()
        if report.earlierCount > 0 {
            output.write(
                "\(Self.count(report.earlierCount, "document")) had been imported before")
        }
        if report.skippedCount > 0 {
            output.write(
                "\(Self.count(report.skippedCount, "row")) skipped: their documents exist")
        }
        let badRowCount = report.badRowCount + report.earlierBadRowCount
        if badRowCount > 0 {
            output.write("\(Self.count(badRowCount, "bad row")) not imported")
        }
        let seconds = seconds(until: Clock.system.monotonicNanoseconds())
        let rate = seconds > 0 ? UInt64(Double(report.rowCount) / seconds) : report.rowCount
        output.write(
            "imported \(Self.count(report.importedCount, "document")) into "
                + "\(TerminalText.visible(collection)) in \(Self.tenths(seconds)) s "
                + "(\(Self.grouped(rate)) rows/s)")
        if report.isStopped {
            output.printError(
                "stopped after \(position(of: report)), because of "
                    + "\(Self.count(report.badRowCount, "bad row")); --resume continues")
        } else if report.isInterrupted {
            output.printError(
                report.isResumable
                    ? "interrupted after \(position(of: report)); --resume continues"
                    : "interrupted before any row was written; run the command again")
        }
    }

    private func position(of report: ImportReport) -> String {
        TerminalText.visible(report.numbering.name(before: report.position))
    }

    private mutating func printBadRows(_ report: ImportReport) {
        unlistedCount = report.badRowCount - UInt64(report.badRows.count)
        guard report.badRows.count > listedCount else { return }
        clear()
        for bad in report.badRows[listedCount...] {
            output.printError(
                TerminalText.visible(
                    "\(file.shortened), \(report.numbering.name(of: bad.row)): \(bad.reason)"))
        }
        listedCount = report.badRows.count
    }

    private func seconds(until now: UInt64) -> Double { Double(now - started) / 1e9 }

    private static func tenths(_ seconds: Double) -> String {
        let tenths = Int((seconds * 10).rounded())
        return "\(tenths / 10).\(tenths % 10)"
    }

    private static func duration(_ seconds: Double) -> String {
        let seconds = Int(min(seconds.rounded(.up), 360_000))
        if seconds < 100 { return "\(seconds) s" }
        return seconds < 6_000 ? "\((seconds + 59) / 60) min" : "\((seconds + 3_599) / 3_600) h"
    }

    private static func count(_ count: UInt64, _ noun: String) -> String {
        "\(grouped(count)) \(noun)\(count == 1 ? "" : "s")"
    }

    /// Returns a number with commas between groups of three digits.
    private static func grouped(_ number: UInt64) -> String {
        var digits = String(number)
        var end = digits.utf8.count - 3
        while end > 0 {
            digits.insert(",", at: digits.index(digits.startIndex, offsetBy: end))
            end -= 3
        }
        return digits
    }
}

extension ImportReport {
    /// Number of rows read by this run.
    fileprivate var rowCount: UInt64 { importedCount + skippedCount + badRowCount }
}
