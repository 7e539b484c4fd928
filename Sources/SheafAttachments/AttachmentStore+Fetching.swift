package import SheafDocument
import SheafStorage
import Synchronization

/// Fetching of attachments chunk by chunk, independent of where the bytes come from.
extension AttachmentStore {
    /// The local state of a requested file.
    package enum FetchState: Sendable {
        case complete
        /// The chunk hashes of the file are known, and some chunks may be stored.
        case incoming(IncomingAttachment)
        /// A file of which only the id is known: its chunk hashes must be received first.
        case unknown
    }

    /// Clears the mark of a requested file; returns its local state.
    package func beginFetch(_ id: AttachmentID) throws(AttachmentError) -> FetchState {
        guard let entry = try entry(id) else { return .unknown }
        try clearMark(of: id)
        switch entry.kind {
        case .complete: return .complete
        case .partial:
            guard let incoming = try incoming(id) else { return .unknown }
            guard incoming.missingChunks(limit: 1).isEmpty else { return .incoming(incoming) }
            // The file has no chunks, or the process ended between the last chunk and the rename.
            try incoming.flush()
            return .complete
        }
    }

    /// Begins or continues the fetch of a file with chunk hashes from an untrusted peer.
    package func beginFetch(
        _ id: AttachmentID, length: Int, hashes: [UInt8]
    ) throws(AttachmentError) -> FetchState {
        let state = try beginFetch(id)
        guard case .unknown = state else { return state }
        guard let list = ChunkList(length: length, hashes: hashes), list.id == id else {
            throw .wrongList(id)
        }
        let volume = try writableVolume()
        try reserve(length)
        do throws(AttachmentError) {
            try begin(list, id, in: volume)
        } catch {
            release(length)
            throw error
        }
        return try beginFetch(id)
    }

    /// Creates the file for the chunks; its header is durable before the file gets its name.
    private func begin(
        _ list: ChunkList, _ id: AttachmentID, in volume: any Volume
    ) throws(AttachmentError) {
        let name = FileName.temporaryName(options.random())
        do throws(AttachmentError) {
            let file = try onVolume { () throws(VolumeError) in try volume.open(name, .create) }
            defer { file.close() }
            let header = AttachmentHeader(
                id: id, list: list, storedChunks: ChunkSet(count: list.count))
            try onVolume { () throws(VolumeError) in
                try file.truncate(to: AttachmentHeader.length(ofFile: list.length) + list.length)
            }
            try Self.write(header, to: file)
            try withNamesLocked { () throws(AttachmentError) in
                // Another thread may have begun the fetch, or have added the complete file.
                guard try currentState().entries[id] == nil else {
                    release(list.length)
                    return discardTemporary(name, in: volume)
                }
                try onVolume { () throws(VolumeError) in
                    try volume.rename(name, to: AttachmentFile.name(ofPartial: id))
                    try volume.synchronizeNames()
                }
                recordFile()
                state.withLock { state in
                    state.entries[id] = Entry(
                        kind: .partial(nil), unreferencedSince: 0, length: list.length)
                }
            }
        } catch {
            discardTemporary(name, in: volume)
            throw error
        }
    }

    private func discardTemporary(_ name: String, in volume: any Volume) {
        try? volume.remove(name)
    }

    /// Returns a partial file, opened once for all threads that add chunks.
    ///
    /// Returns nil if there is none, or if it is damaged.
    package func incoming(_ id: AttachmentID) throws(AttachmentError) -> IncomingAttachment? {
        guard let entry = try entry(id), case .partial(let known) = entry.kind else { return nil }
        if let known { return known }
        let volume = try writableVolume()
        return try withNamesLocked { () throws(AttachmentError) in
            guard case .partial(let opened)? = try self.currentState().entries[id]?.kind else {
                return nil
            }
            if let opened { return opened }
            let file: AttachmentFile
            do throws(AttachmentError) {
                file = try AttachmentFile.open(id, isComplete: false, in: volume, for: .write)
            } catch .damaged {
                // A damaged partial file is discarded, because it can be fetched again.
                removeEntry(id) { _ in true }
                discardTemporary(AttachmentFile.name(ofPartial: id), in: volume)
                return nil
            }
            let incoming = IncomingAttachment(file, chunksPerSync: options.chunksPerSync) {
                [weak self] () throws(AttachmentError) in
                guard let self else { throw .closed }
                try self.complete(id, length: file.length)
            }
            state.withLock { $0.entries[id]?.kind = .partial(incoming) }
            return incoming
        }
    }

    /// Publishes a file whose chunks are all durable.
    private func complete(_ id: AttachmentID, length: Int) throws(AttachmentError) {
        let name = AttachmentFile.name(ofPartial: id)
        do throws(AttachmentError) {
            try publish(name, as: id, length: length, reserved: 0)
        } catch .volume(let error) where error.code == .noSuchFile {
            // The file was added locally in the meantime.
            guard try has(id) else { throw .volume(error) }
        }
    }

    /// Removes a file, even if documents reference it.
    package func remove(_ id: AttachmentID) throws(AttachmentError) {
        try remove(id) { _ in true }
    }

    /// Stops the fetch of a file and discards its chunks.
    package func abandon(_ id: AttachmentID) throws(AttachmentError) {
        guard case .partial? = try entry(id)?.kind else { return }
        try remove(id) { if case .partial = $0.kind { true } else { false } }
    }

    /// Returns a chunk to be sent to another peer; nil if it is not stored.
    package func chunk(
        _ chunk: Int, of id: AttachmentID
    ) throws(AttachmentError) -> [UInt8]? {
        if let file = try file(id) {
            return 0..<file.chunkCount ~= chunk ? try file.read(chunk) : nil
        }
        return try incoming(id)?.read(chunk)
    }

    /// Returns the chunk hashes of a file, to be sent to another peer; nil if they are unknown.
    package func chunkList(of id: AttachmentID) throws(AttachmentError) -> ChunkList? {
        if let file = try file(id) { return file.list }
        return try incoming(id)?.list
    }

    /// Removes the entry of a file if it satisfies a condition.
    @discardableResult
    private func removeEntry(_ id: AttachmentID, if isRight: (Entry) -> Bool) -> Entry? {
        state.withLock { state in
            guard let entry = state.entries[id], isRight(entry) else { return nil }
            state.entries[id] = nil
            state.usedLength -= entry.length
            return entry
        }
    }

    /// Removes a file if its entry satisfies a condition; returns whether it did.
    @discardableResult
    package func remove(
        _ id: AttachmentID, if isRight: (Entry) -> Bool
    ) throws(AttachmentError) -> Bool {
        let volume = try writableVolume()
        let entry = try withNamesLocked { () throws(AttachmentError) -> Entry? in
            // From here on the file cannot be opened; open files stay readable.
            guard let entry = removeEntry(id, if: isRight) else { return nil }
            let name =
                if case .complete = entry.kind { AttachmentFile.name(ofComplete: id) } else {
                    AttachmentFile.name(ofPartial: id)
                }
            do throws(VolumeError) {
                try volume.remove(name)
            } catch {
                guard error.code != .noSuchFile else { return entry }
                state.withLock { state in
                    state.entries[id] = entry
                    state.usedLength += entry.length
                }
                throw .volume(error)
            }
            return entry
        }
        if case .partial(let incoming?)? = entry?.kind { incoming.end(isComplete: false) }
        return entry != nil
    }
}
