import SheafSync

/// The attachments that one peer with limited rights has brought, and that this peer keeps for others.
struct BroughtAttachments {
    private var lengths: [AttachmentID: Int] = [:]
    /// Number of bytes that count for all of them.
    private(set) var length = 0
    /// When attachments were forgotten last that are not here any more.
    var reviewedAt: UInt64?

    /// Number of bytes that count for an attachment besides its own: so their number has a limit, too.
    private static let overhead = 16 << 10

    /// Returns the number of bytes that would count with more of an attachment.
    func length(adding added: Int, of id: AttachmentID) -> Int {
        length + added + (lengths[id] == nil ? Self.overhead : 0)
    }

    /// Counts bytes of an attachment.
    mutating func add(_ added: Int, of id: AttachmentID) {
        length = length(adding: added, of: id)
        lengths[id, default: Self.overhead] += added
    }

    /// Forgets the attachments that are not here any more.
    mutating func keepOnly(_ here: Set<AttachmentID>) {
        lengths = lengths.filter { here.contains($0.key) }
        length = lengths.values.reduce(0, +)
    }
}
