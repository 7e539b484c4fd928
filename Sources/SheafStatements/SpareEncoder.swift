import SheafDocument
import Synchronization

/// A spare encoder, kept to reuse its memory.
final class SpareEncoder: Sendable {
    /// Length of a document after which the memory is released.
    private static let maximumKeptLength = 1 << 20

    /// An encoder with one user at a time.
    private final class Slot: Sendable {
        // A slot is taken out of the pool while it is used.
        nonisolated(unsafe) var encoder = NewDocumentEncoder(listsNames: false)
    }

    private let spare = Mutex<Slot?>(nil)

    /// Calls `body` with the spare encoder, or a new one if another caller has it.
    func use<Result>(_ body: (inout NewDocumentEncoder) -> Result) -> Result {
        let slot = spare.withLock { $0.take() } ?? Slot()
        defer {
            if slot.encoder.length <= Self.maximumKeptLength { spare.withLock { $0 = slot } }
        }
        return body(&slot.encoder)
    }
}
