import SheafBytes
import Synchronization

/// A file of which some chunks are here, and others are to come.
///
/// A chunk is written once its hash is right, and noted once its bytes are durable: what the note says
/// is true whenever the process dies. Several may put chunks; they take turns.
package final class IncomingAttachment: Sendable {
    private struct State: Sendable {
        var here: ChunkSet
        /// What was written since the bytes were made durable last.
        var unsynced: [Int] = []
        var phase = Phase.open
    }

    private enum Phase: Sendable {
        case open, whole, gone
    }

    /// What became of a chunk.
    package enum Outcome: Equatable, Sendable {
        case taken
        /// It was here before.
        case known
        /// It was the last one: the file is whole, and durable.
        case whole
    }

    let file: AttachmentFile
    private let state: Mutex<State>
    private let batch: Int
    /// Gives the file its name; called once all of it is durable.
    private let complete: @Sendable () throws(AttachmentError) -> Void

    package var id: AttachmentID { file.id }
    package var length: Int { file.length }
    package var list: ChunkList { file.list }

    init(
        _ file: AttachmentFile, batch: Int,
        _ complete: @escaping @Sendable () throws(AttachmentError) -> Void
    ) {
        self.file = file
        self.batch = batch
        self.complete = complete
        state = Mutex(State(here: file.head.here))
    }

    /// How many bytes are here, durable or not.
    package var receivedLength: Int {
        state.withLock { state in
            let last = list.count - 1
            var length = state.here.filled * ChunkList.chunkLength
            if state.here.contains(last) {
                length -= ChunkList.chunkLength - list.range(of: last).count
            }
            return length
        }
    }

    /// The chunks that are not here, as runs, at most so many.
    package func missingChunks(limit: Int = 1_024) -> [Range<Int>] {
        state.withLock { $0.here.missing(limit: limit) }
    }

    package func contains(_ chunk: Int) -> Bool {
        state.withLock { $0.here.contains(chunk) }
    }

    /// A chunk for those who ask for it here; nil where it is not here itself.
    package func read(_ chunk: Int) throws(AttachmentError) -> [UInt8]? {
        try contains(chunk) ? file.read(chunk) : nil
    }

    /// Takes a chunk from somebody who is not trusted.
    @discardableResult
    package func put(
        _ bytes: UnsafeRawBufferPointer, at chunk: Int
    ) throws(AttachmentError) -> Outcome {
        guard list.matches(bytes, at: chunk) else { throw .wrongChunk(id, chunk: chunk) }
        nonisolated(unsafe) let bytes = bytes
        // The disk is waited for under this lock, which is that of one file.
        return try state.withLock { state throws(AttachmentError) in
            switch state.phase {
            case .open: break
            case .whole: return .whole
            case .gone: throw .missing(id)
            }
            if state.here.contains(chunk) { return .known }
            try file.write(bytes, at: chunk)
            state.here.insert(chunk)
            state.unsynced.append(chunk)
            guard state.here.isFull || state.unsynced.count >= batch else { return .taken }
            return try settle(&state) ? .whole : .taken
        }
    }

    /// Makes durable what came so far, and says that it is here; true once that is all.
    @discardableResult
    package func settle() throws(AttachmentError) -> Bool {
        try state.withLock { state throws(AttachmentError) in
            switch state.phase {
            case .open: try settle(&state)
            case .whole: true
            case .gone: throw .missing(id)
            }
        }
    }

    /// Takes no more, for somebody else has the whole file, or nobody wants it.
    func end(isWhole: Bool) {
        state.withLock { $0.phase = isWhole ? .whole : .gone }
    }

    private func settle(_ state: inout State) throws(AttachmentError) -> Bool {
        do throws(AttachmentError) {
            try file.synchronize()
            try file.write(state.here)
            guard state.here.isFull else {
                state.unsynced = []
                return false
            }
            // Whoever has fetched it is about to read it.
            try file.writeWanted()
            try file.synchronize()
            try complete()
            state.unsynced = []
            state.phase = .whole
            return true
        } catch {
            // Nobody knows what the disk has of it: it has to come once more.
            for chunk in state.unsynced { state.here.remove(chunk) }
            state.unsynced = []
            throw error
        }
    }
}
