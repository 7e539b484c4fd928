import Synchronization

/// The writes of the clients of a process, and those that hubs have acknowledged.
final class WriteLedger: Sendable {
    /// The writes of one document.
    struct Entry {
        /// Number of increments of its counter, and of those acknowledged.
        var increments = 0
        var acknowledgedIncrements = 0
        var isInsertionAcknowledged = false
        var isDeletionAttempted = false
        var isDeletionAcknowledged = false
    }

    enum Write {
        case insertion, increment, deletion
    }

    private let entries = Mutex<[String: Entry]>([:])

    /// Records a write before it is executed.
    func attempt(_ write: Write, of id: String) {
        entries.withLock { entries in
            switch write {
            case .insertion: break
            case .increment: entries[id, default: Entry()].increments += 1
            case .deletion: entries[id, default: Entry()].isDeletionAttempted = true
            }
        }
    }

    /// Records that a hub has acknowledged a write.
    func acknowledge(_ write: Write, of id: String) {
        entries.withLock { entries in
            switch write {
            case .insertion: entries[id, default: Entry()].isInsertionAcknowledged = true
            case .increment: entries[id, default: Entry()].acknowledgedIncrements += 1
            case .deletion: entries[id, default: Entry()].isDeletionAcknowledged = true
            }
        }
    }

    /// A line for each document: its id, the two numbers of increments, and letters for the rest.
    var lines: [String] {
        entries.withLock { entries in
            entries.map { id, entry in
                var letters = ""
                if entry.isInsertionAcknowledged { letters += "i" }
                if entry.isDeletionAttempted { letters += "a" }
                if entry.isDeletionAcknowledged { letters += "d" }
                return "\(id) \(entry.increments) \(entry.acknowledgedIncrements) \(letters)-"
            }
        }
    }
}
