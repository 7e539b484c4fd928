package import SheafDocument

/// The turns of connections whose requested attachments wait for room.
package struct RelayTurns {
    /// When waiting attachments are fetched next; nil if none waits.
    package private(set) var next: UInt64?
    /// The connection that took its turn last.
    var lastConnection: UInt64 = 0
    /// Whether waiting attachments are being fetched, which then find room before new ones.
    var areRunning = false
    /// Attachments that could not be fetched for others, and when; they wait for some time.
    private var failures: [AttachmentID: UInt64] = [:]

    /// Time after which an attachment that nothing arrives of makes room, in nanoseconds.
    package static let patience: UInt64 = 20_000_000_000

    package init() {}

    /// Whether a new request must wait because others do.
    var mustWait: Bool { next != nil && !areRunning }

    /// Schedules the turns: at once if there is room.
    package mutating func wait(at now: UInt64, hasRoom: Bool) {
        if hasRoom {
            next = now
        } else if next == nil {
            next = now + Self.patience
        }
    }

    /// Schedules the turns at once if attachments wait, because one has made room.
    package mutating func useRoom(at now: UInt64) {
        if next != nil { next = now }
    }

    package func areDue(at now: UInt64) -> Bool { next.map { $0 <= now } ?? false }

    /// Schedules the next turns after these have ended.
    package mutating func end(at now: UInt64, isWaiting: Bool) {
        next = isWaiting || !failures.isEmpty ? now + Self.patience : nil
    }

    // MARK: Failures

    package mutating func recordFailure(of id: AttachmentID, at now: UInt64) {
        forgetFailures(at: now)
        failures[id] = now
    }

    package func hasFailed(_ id: AttachmentID) -> Bool { failures[id] != nil }

    /// Forgets failures that are old enough for another attempt.
    package mutating func forgetFailures(at now: UInt64) {
        failures = failures.filter { $0.value + Self.patience > now }
    }
}
