package import SheafDocument
import SheafSync

/// Attachments received from one peer with limited rights and kept for other peers.
package struct ReceivedAttachments {
    private var lengths: [AttachmentID: Int] = [:]
    /// Attachments counted with their full length.
    private var complete: Set<AttachmentID> = []
    /// Number of bytes counted for all attachments.
    package private(set) var length = 0
    /// Time of the last removal of deleted attachments.
    var reviewedAt: UInt64?

    /// Number of bytes counted for each attachment in addition to its own.
    ///
    /// It limits the number of attachments.
    package static let overhead = 16 << 10

    package init() {}

    /// Returns the number of bytes counted if `length` bytes of an attachment were added.
    package func length(adding added: Int, of id: AttachmentID) -> Int {
        guard !complete.contains(id) else { return length }
        return length + added + (lengths[id] == nil ? Self.overhead : 0)
    }

    /// Counts bytes of an attachment, unless its full length is counted already.
    package mutating func add(_ added: Int, of id: AttachmentID) {
        guard !complete.contains(id) else { return }
        length = length(adding: added, of: id)
        lengths[id, default: Self.overhead] += added
    }

    /// Counts an attachment with its full length.
    package mutating func begin(_ id: AttachmentID, length: Int) {
        remove(id)
        add(length, of: id)
        complete.insert(id)
    }

    package mutating func remove(_ id: AttachmentID) {
        length -= lengths.removeValue(forKey: id) ?? 0
        complete.remove(id)
    }

    /// Removes all attachments that are not in `stored`.
    package mutating func retain(_ stored: Set<AttachmentID>) {
        lengths = lengths.filter { stored.contains($0.key) }
        complete.formIntersection(stored)
        length = lengths.values.reduce(0, +)
    }
}
