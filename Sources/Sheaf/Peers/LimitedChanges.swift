import SheafDocument
import SheafSync

/// The documents that have changed since the last step for a peer with limited rights.
///
/// A document is kept once, by its key, however often it changes. Its former states are kept until the queries
/// are evaluated on them.
struct LimitedChanges {
    /// A document that matches, or has matched, since the last step.
    struct Change {
        /// Whether the peer may have it as it was.
        var hasMatched = false
        /// Whether only the peer itself has changed it.
        var isOnlyTheirs = true
    }

    /// A readable document that has changed, and on which the queries are not evaluated yet.
    struct Incoming {
        let key: [UInt8]
        let address: DocumentAddress
        /// How it was, if that was readable.
        let before: StoredDocument?
        let isTheirs: Bool
        /// Number of bytes of `before` with all names spelled: numbers of names depend on documents that the
        /// peer may not read.
        let beforeLength: Int

        fileprivate var length: Int { LimitedChanges.length(of: key) + beforeLength }
    }

    private var incoming: [Incoming] = []
    /// Number of the first ones of `incoming` that were removed.
    private var removedCount = 0
    private(set) var changed: [[UInt8]: Change] = [:]
    /// Number of bytes that count for all of them.
    private(set) var length = 0

    var isEmpty: Bool { count == 0 }
    var count: Int { incoming.count - removedCount + changed.count }

    /// The first change on which the queries are not evaluated yet.
    var first: Incoming? { removedCount < incoming.count ? incoming[removedCount] : nil }

    /// Adds a change, unless it says nothing that is not known of the document.
    mutating func add(_ change: Incoming) {
        if changed[change.key]?.hasMatched == true {
            if !change.isTheirs { changed[change.key]?.isOnlyTheirs = false }
            return
        }
        incoming.append(change)
        length += change.length
    }

    /// Removes the first change on which the queries are not evaluated yet.
    mutating func removeFirst() {
        guard let first else { return }
        length -= first.length
        removedCount += 1
        guard removedCount * 2 >= incoming.count else { return }
        incoming.removeFirst(removedCount)
        removedCount = 0
    }

    /// Sets what is known of a document.
    mutating func set(_ change: Change, for key: [UInt8]) {
        if changed.updateValue(change, forKey: key) == nil { length += Self.length(of: key) }
    }

    /// Removes what is in `changed`, and returns the number of bytes that counted for it.
    mutating func takeChanged() -> Int {
        let taken = changed.keys.reduce(0) { $0 + Self.length(of: $1) }
        length -= taken
        changed = [:]
        return taken
    }

    /// Number of bytes that count for a document besides its former state.
    private static func length(of key: [UInt8]) -> Int { key.count + 64 }
}
