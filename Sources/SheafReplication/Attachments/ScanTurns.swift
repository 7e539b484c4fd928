/// The times of scans of all documents, in which connections take turns.
package struct ScanTurns {
    /// When documents are scanned next; nil if no connection waits for it.
    package private(set) var next: UInt64?
    private var last: UInt64?
    /// The connection that took its turn last.
    var lastConnection: UInt64 = 0

    package init() {}

    /// Schedules a scan, at least `pause` after the last one.
    package mutating func request(at now: UInt64, pause: UInt64) {
        guard next == nil else { return }
        next = max(now, last.map { $0 + pause } ?? 0)
    }

    /// Returns whether a scan is due, which then begins.
    package mutating func beginIfDue(at now: UInt64) -> Bool {
        guard let next, next <= now else { return false }
        (self.next, last) = (nil, now)
        return true
    }
}
