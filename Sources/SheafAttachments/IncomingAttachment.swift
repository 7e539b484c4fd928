import SheafBytes
package import SheafDocument
import Synchronization

/// An attachment of which some chunks are stored and others are missing.
///
/// A chunk is written when it matches its hash, and marked as stored when its bytes are durable, so
/// the marks are correct after a crash. Threads that add chunks take turns.
package final class IncomingAttachment: Sendable {
    private struct State: Sendable {
        var storedChunks: ChunkSet
        /// The chunks written since the last sync.
        var unsynced: [Int] = []
        var phase = Phase.open
    }

    private enum Phase: Sendable {
        case open, complete, abandoned
    }

    /// The outcome of adding a chunk.
    package enum Outcome: Equatable, Sendable {
        case accepted
        /// The chunk was stored before.
        case duplicate
        /// The file is complete and durable, with this chunk or since an earlier one.
        case complete
    }

    package let file: AttachmentFile
    private let state: Mutex<State>
    private let chunksPerSync: Int
    /// The function that renames the file to its final name, called when all of it is durable.
    private let complete: @Sendable () throws(AttachmentError) -> Void

    package var id: AttachmentID { file.id }
    package var length: Int { file.length }
    package var list: ChunkList { file.list }

    package init(
        _ file: AttachmentFile, chunksPerSync: Int,
        _ complete: @escaping @Sendable () throws(AttachmentError) -> Void
    ) {
        self.file = file
        self.chunksPerSync = chunksPerSync
        self.complete = complete
        state = Mutex(State(storedChunks: file.header.storedChunks))
    }

    /// Number of received bytes, durable or not.
    package var receivedLength: Int {
        state.withLock { state in
            let last = list.count - 1
            var length = state.storedChunks.filledCount * ChunkList.chunkLength
            if state.storedChunks.contains(last) {
                length -= ChunkList.chunkLength - list.range(of: last).count
            }
            return length
        }
    }

    /// Returns the missing chunks, as at most `limit` ranges.
    package func missingChunks(limit: Int = 1_024) -> [Range<Int>] {
        state.withLock { $0.storedChunks.missing(limit: limit) }
    }

    package func contains(_ chunk: Int) -> Bool {
        state.withLock { $0.storedChunks.contains(chunk) }
    }

    /// Returns a chunk to be sent to another peer; nil if it is not stored.
    package func read(_ chunk: Int) throws(AttachmentError) -> [UInt8]? {
        try contains(chunk) ? file.read(chunk) : nil
    }

    /// Adds a chunk from an untrusted peer; throws if it does not match its hash.
    @discardableResult
    package func put(
        _ bytes: UnsafeRawBufferPointer, at chunk: Int
    ) throws(AttachmentError) -> Outcome {
        guard list.matches(bytes, at: chunk) else { throw .wrongChunk(id, chunk: chunk) }
        nonisolated(unsafe) let bytes = bytes
        // The lock of this one file is held while waiting for the disk.
        return try state.withLock { state throws(AttachmentError) in
            switch state.phase {
            case .open: break
            case .complete: return .complete
            case .abandoned: throw .missing(id)
            }
            if state.storedChunks.contains(chunk) { return .duplicate }
            try file.write(bytes, at: chunk)
            state.storedChunks.insert(chunk)
            state.unsynced.append(chunk)
            guard state.storedChunks.isFull || state.unsynced.count >= chunksPerSync else {
                return .accepted
            }
            return try flush(&state) ? .complete : .accepted
        }
    }

    /// Makes the added chunks durable and marks them; returns whether the file is complete.
    @discardableResult
    package func flush() throws(AttachmentError) -> Bool {
        try state.withLock { state throws(AttachmentError) in
            switch state.phase {
            case .open: try flush(&state)
            case .complete: true
            case .abandoned: throw .missing(id)
            }
        }
    }

    /// Refuses further chunks, because the file is complete or was abandoned.
    func end(isComplete: Bool) {
        state.withLock { $0.phase = isComplete ? .complete : .abandoned }
    }

    private func flush(_ state: inout State) throws(AttachmentError) -> Bool {
        do throws(AttachmentError) {
            try file.synchronize()
            try file.write(state.storedChunks)
            guard state.storedChunks.isFull else {
                state.unsynced = []
                return false
            }
            // The file counts as requested, because its fetcher is about to read it.
            try file.clearMark()
            try file.synchronize()
            try complete()
            state.unsynced = []
            state.phase = .complete
            return true
        } catch {
            // The disk may have lost these chunks, so they must be received again.
            for chunk in state.unsynced { state.storedChunks.remove(chunk) }
            state.unsynced = []
            throw error
        }
    }
}
