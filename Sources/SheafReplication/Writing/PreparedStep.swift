import SheafBytes
import SheafDocument
package import SheafEngine
import SheafStatements
import SheafSync

/// A batch received from a peer and validated, to be written in one commit.
///
/// Its documents have the field-name numbers of this store.
package struct PreparedStep: Sendable {
    let generation: UInt64
    package let documents: SpillBuffer
    /// The commit of the peer whose state this store has once the batch is applied.
    package let commit: UInt64
    /// The stamp of the original write; nil if the batch contains several writes.
    let stamp: Stamp?
    /// The key of a sender with limited rights, whose tokens are unproven; otherwise nil.
    let senderKey: [UInt8]?
    /// Random number of the connection on which the batch was received.
    package let connection: UInt64
    /// The write pauses of the peer's site, as reported before the batch.
    let pauses: [WritePause]
    /// Whether further batches belong to the same commit.
    let isCut: Bool
    /// Number of bytes received, credited to the sender when the batch is applied.
    let length: Int
    /// The progress in a shard of the hub log once the batch is applied; nil for one of a peer.
    var storedShard: (number: UInt16, stored: StoredShard)?
}
