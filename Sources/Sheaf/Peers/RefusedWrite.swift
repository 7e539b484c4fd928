import SheafBytes
public import SheafDocument
import SheafSync

/// A document that a peer refuses as it was written here, for want of rights.
///
/// ``PeerSync/wait(for:on:)`` throws it. The document stays as it is here until it is reverted or written anew:
///
///     do {
///         try await peer.sync.wait(for: commit, on: server)
///     } catch let refused as RefusedWrite {
///         print(refused)
///         try await peer.sync.revert(refused)
///     }
public struct RefusedWrite: Error, Sendable, Hashable {
    /// The rule that forbids a write; new ones may come with new versions.
    public enum Reason: String, Sendable, Hashable {
        /// The rules of the peer forbid the document as it is here.
        case document
        /// The rules of the peer forbid changes of the document that is there.
        case original
        /// The grant of this peer forbids the document, so it is not sent.
        case ownGrant
    }

    public let collection: String
    public let documentID: Value
    /// The peer that refuses the document.
    public let peer: PeerKey
    public let reason: Reason
    /// The numbers of the commits here that the peer lacks of the document, ascending.
    ///
    /// Of more than sixteen these are the first and the newest. After a restart they can include commits that the
    /// peer has.
    public let commitIDs: [Int64]
    /// When this peer learned of it, in milliseconds since 1970.
    public let milliseconds: Int64

    /// Maximum number of commits that are kept of one document.
    static let mostCommits = 16

    /// Whether the peer lacks the part of a commit that is in the document.
    package func concerns(_ commit: UInt64) -> Bool {
        let commit = Int64(clamping: commit)
        guard commitIDs.count >= Self.mostCommits, let first = commitIDs.first,
            let last = commitIDs.last
        else { return commitIDs.contains(commit) }
        return (first...last).contains(commit)
    }
}

extension RefusedWrite: CustomStringConvertible {
    public var description: String {
        let name = "\(Value.string(collection).json.shortened) \(documentID.json.shortened)"
        return "the peer \(peer) does not take the document \(name): \(reason)"
    }
}

extension RefusedWrite.Reason: CustomStringConvertible {
    public var description: String {
        switch self {
        case .document: "its rules do not let this peer write the document as it is here"
        case .original: "its rules do not let this peer change the document that is there"
        case .ownGrant: "the grant of this peer does not let it write the document there"
        }
    }
}

extension RefusedWrite.Reason {
    init(_ reason: RefusedNotice.Reason) {
        switch reason {
        case .result: self = .document
        case .original: self = .original
        }
    }
}

extension RefusedWrite {
    /// The row of `system:refused_writes`.
    var row: Object {
        let address = "\(peer)/\(Value.string(collection).json)/\(documentID.json)"
        return [
            "_id": .string(address), "collection": .string(collection), "document_id": documentID,
            "peer": .string(peer.description), "reason": .string(reason.rawValue),
            "message": .string(reason.description),
            "commit_ids": .array(commitIDs.map { .integer($0) }),
            "refused_at": .integer(milliseconds),
        ]
    }
}

/// The writes that one peer refused.
package struct PeerRefusals: Sendable {
    package var writes: [RefusedWrite] = []
    /// Number of documents that there was no room for, and the newest commit that has one of them.
    package var omitted: UInt64 = 0
    var omittedThrough: UInt64 = 0

    package init() {}

    init(writes: [RefusedWrite], omitted: UInt64, omittedThrough: UInt64) {
        (self.writes, self.omitted) = (writes, omitted)
        self.omittedThrough = omittedThrough
    }

    package var isEmpty: Bool { writes.isEmpty && omitted == 0 }
}
