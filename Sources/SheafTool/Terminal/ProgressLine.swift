import SheafStorage

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A line on standard error with the progress of a copy, if that is a terminal.
final class ProgressLine {
    private static let intervalNanoseconds: UInt64 = 100_000_000
    private static let erasure = "\r\u{1B}[K"

    private let isShown = isatty(STDERR_FILENO) == 1
    private let start: UInt64
    private var next: UInt64 = 0
    private var isDrawn = false

    /// Creates a line for work that began at a monotonic time in nanoseconds.
    init(start: UInt64) {
        self.start = start
    }

    /// Draws the progress, at most ten times in a second.
    func show(_ progress: CopyProgress, at now: UInt64) {
        let isVerifying = progress.phase == .verifying
        guard isShown, now >= next || isVerifying else { return }
        next = now + Self.intervalNanoseconds
        isDrawn = true
        let text =
            isVerifying
            ? "verifying \(Quantity.bytes(progress.totalBytes))"
            : Self.text(progress, elapsedNanoseconds: now - start)
        write(Self.erasure + text)
    }

    /// Removes the line.
    func erase() {
        guard isDrawn else { return }
        isDrawn = false
        write(Self.erasure)
    }

    /// Returns the bytes, the speed and the time left.
    static func text(_ progress: CopyProgress, elapsedNanoseconds: UInt64) -> String {
        let seconds = max(Double(elapsedNanoseconds) / 1e9, 1e-3)
        let speed = Double(progress.doneBytes) / seconds
        let left = Double(max(progress.totalBytes - progress.doneBytes, 0)) / max(speed, 1)
        return "\(Quantity.bytes(progress.doneBytes)) of \(Quantity.bytes(progress.totalBytes)), "
            + "\(Quantity.bytes(Int(speed)))/s, \(Int(left.rounded(.up))) s left"
    }

    private func write(_ text: String) {
        let bytes = Array(text.utf8)
        #if canImport(Glibc)
            _ = Glibc.write(STDERR_FILENO, bytes, bytes.count)
        #elseif canImport(Musl)
            _ = Musl.write(STDERR_FILENO, bytes, bytes.count)
        #else
            _ = Darwin.write(STDERR_FILENO, bytes, bytes.count)
        #endif
    }
}
