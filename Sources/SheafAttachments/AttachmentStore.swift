package import SheafDocument
package import SheafStorage
package import SheafSystem
import Synchronization

/// The attachment files of a store, in a directory next to the log (`format-spec/attachments.md`).
///
/// The name of a file is its content hash, so there is one file for equal contents. A rename makes
/// it visible once it is durable, and each chunk is compared with its hash when it is read.
package final class AttachmentStore: Sendable {
    package struct Options: Sendable {
        package var isReadOnly = false
        /// Maximum total length in bytes of the files added since opening; nil for no limit.
        package var maximumLength: Int?
        /// Number of chunks that are made durable together.
        package var chunksPerSync = 16
        package var clock = Clock.system
        package var random: @Sendable () -> UInt64 = { OperatingSystem.randomInteger() }

        package init() {}
    }

    /// The stored part of a file.
    package enum Kind: Sendable {
        case complete
        /// Chunks may be missing; nil until the file is opened.
        case partial(IncomingAttachment?)
    }

    package struct Entry: Sendable {
        var kind: Kind
        /// The time at which the file was found unreferenced, or 0; nil until it is read.
        package var unreferencedSince: UInt64?
        /// Length in bytes of a file added or begun since opening; 0 for older files.
        package var length = 0
    }

    package struct State: Sendable {
        var entries: [AttachmentID: Entry] = [:]
        package var volume: (any Volume)?
        var isLoaded = false
        var isClosed = false
        /// Total length of files added or fetched since opening, including unfinished ones.
        var usedLength = 0
    }

    package let options: Options
    private let parent: any Volume
    let state = Mutex(State())
    /// Held while file names change, so that directory and entries change together.
    ///
    /// Its holder may lock `state`, but never the state of an `IncomingAttachment`.
    private let names = Mutex(())

    private let mayHoldFiles = Atomic(false)

    /// Creates a store for the files in `parent`, which is not accessed before the first call.
    package init(in parent: any Volume, options: Options = Options()) {
        self.parent = parent
        self.options = options
    }

    // MARK: Opening and closing

    /// Reads the file names, and removes temporary files and superseded partial ones.
    package func load() throws(AttachmentError) {
        guard try !currentState().isLoaded else { return }
        try withNamesLocked { () throws(AttachmentError) in
            guard try !currentState().isLoaded else { return }
            let volume = try onVolume { () throws(VolumeError) in
                try parent.directory(FileName.attachmentsName, creating: false)
            }
            var entries: [AttachmentID: Entry] = [:]
            for name in try onVolume({ () throws(VolumeError) in try volume?.names() ?? [] }) {
                switch AttachmentName(name) {
                case .complete(let id):
                    // A crash left the partial file after the complete one had been added.
                    if entries[id] != nil {
                        discard(AttachmentFile.name(ofPartial: id), in: volume)
                    }
                    entries[id] = Entry(kind: .complete)
                case .partial(let id):
                    if entries[id] == nil {
                        entries[id] = Entry(kind: .partial(nil))
                    } else {
                        discard(name, in: volume)
                    }
                case .temporary: discard(name, in: volume)
                case .foreign: break
                }
            }
            state.withLock { state in
                state.entries = entries
                state.volume = volume
                state.isLoaded = true
            }
            if !entries.isEmpty { recordFile() }
        }
    }

    /// Refuses all further calls; open files stay readable.
    package func close() {
        names.withLock { _ in state.withLock { $0.isClosed = true } }
    }

    /// Removes a file that is not in use; a failure is harmless.
    private func discard(_ name: String, in volume: (any Volume)?) {
        guard !options.isReadOnly else { return }
        try? volume?.remove(name)
    }

    // MARK: Reading

    /// Whether a file was found or added since opening, without a lock; false before `load`.
    package var holdsFiles: Bool { mayHoldFiles.load(ordering: .relaxed) }

    func recordFile() { mayHoldFiles.store(true, ordering: .relaxed) }

    /// Whether the complete file is stored.
    package func has(_ id: AttachmentID) throws(AttachmentError) -> Bool {
        guard case .complete? = try entry(id)?.kind else { return false }
        return true
    }

    /// The ids of all stored files, complete or partial.
    package var ids: [AttachmentID] {
        get throws(AttachmentError) {
            try reload()
            try load()
            return Array(try currentState().entries.keys)
        }
    }

    /// Opens a complete file; returns nil if it is missing or partial.
    package func file(_ id: AttachmentID) throws(AttachmentError) -> AttachmentFile? {
        guard case .complete? = try entry(id)?.kind, let volume = try currentState().volume else {
            return nil
        }
        do throws(AttachmentError) {
            return try AttachmentFile.open(id, isComplete: true, in: volume)
        } catch .volume(let error) where error.code == .noSuchFile {
            return nil
        }
    }

    package func entry(_ id: AttachmentID) throws(AttachmentError) -> Entry? {
        try load()
        if let entry = try currentState().entries[id], case .complete = entry.kind { return entry }
        try reload()
        try load()
        return try currentState().entries[id]
    }

    /// Discards the file names of a read-only store, since another process may have added some.
    private func reload() throws(AttachmentError) {
        guard options.isReadOnly else { return }
        _ = try currentState()
        state.withLock { $0.isLoaded = false }
    }

    /// Returns the current state; throws if the store was closed.
    func currentState() throws(AttachmentError) -> State {
        let state = state.withLock { $0 }
        guard !state.isClosed else { throw .closed }
        return state
    }

    /// Clears the mark of a file in memory: it is being fetched, or is about to be referenced.
    package func touch(_ id: AttachmentID) {
        state.withLock { state in
            guard state.entries[id] != nil else { return }
            state.entries[id]?.unreferencedSince = 0
        }
    }

    // MARK: Changes

    /// Returns the attachment directory; creates it if it is missing.
    func writableVolume() throws(AttachmentError) -> any Volume {
        guard !options.isReadOnly else { throw .readOnly }
        try load()
        if let volume = try currentState().volume { return volume }
        return try withNamesLocked { () throws(AttachmentError) in
            if let volume = try currentState().volume { return volume }
            let made = try onVolume { () throws(VolumeError) in
                try parent.directory(FileName.attachmentsName, creating: true)
            }
            guard let made else { preconditionFailure("A directory that was created exists.") }
            state.withLock { $0.volume = made }
            return made
        }
    }

    /// Runs a closure that changes file names, one at a time.
    func withNamesLocked<Result: Sendable>(
        _ body: () throws(AttachmentError) -> Result
    ) throws(AttachmentError) -> Result {
        try names.withLock { _ throws(AttachmentError) in
            _ = try currentState()
            return try body()
        }
    }

    /// Reserves space for a file; throws if a limit is exceeded.
    func reserve(_ length: Int) throws(AttachmentError) {
        guard length <= ChunkList.maximumLength else {
            throw .limit(
                name: "maximumAttachmentLength", value: length, limit: ChunkList.maximumLength)
        }
        let limit = options.maximumLength ?? .max
        try state.withLock { state throws(AttachmentError) in
            guard length <= limit - state.usedLength else {
                throw .limit(
                    name: "attachmentMemory", value: state.usedLength + length, limit: limit)
            }
            state.usedLength += length
        }
    }

    func release(_ length: Int) {
        state.withLock { $0.usedLength -= length }
    }

    /// Renames a complete and durable file to its final name; the rename is durable on return.
    ///
    /// `reserved` is the space that was reserved for the file.
    func publish(
        _ name: String, as id: AttachmentID, length: Int, reserved: Int
    ) throws(AttachmentError) {
        let volume = try writableVolume()
        let before = try withNamesLocked { () throws(AttachmentError) -> Entry? in
            let before = try currentState().entries[id]
            let finalName = AttachmentFile.name(ofComplete: id)
            // An existing file is replaced, because it may be damaged.
            try onVolume { () throws(VolumeError) in try volume.rename(name, to: finalName) }
            do throws(VolumeError) { try volume.synchronizeNames() } catch {
                if case .complete? = before?.kind { throw .volume(error) }
                // A name that may not be durable is undone; the file can be completed again.
                try? volume.rename(finalName, to: name)
                throw .volume(error)
            }
            if case .partial? = before?.kind, name != AttachmentFile.name(ofPartial: id) {
                try? volume.remove(AttachmentFile.name(ofPartial: id))
            }
            recordFile()
            state.withLock { state in
                state.entries[id] = Entry(kind: .complete, unreferencedSince: 0, length: length)
                state.usedLength += length - reserved - (before?.length ?? 0)
            }
            return before
        }
        if case .partial(let incoming?)? = before?.kind, name != AttachmentFile.name(ofPartial: id)
        {
            incoming.end(isComplete: true)
        }
    }
}

/// The kind of a file in the directory, derived from its name.
enum AttachmentName {
    case complete(AttachmentID)
    case partial(AttachmentID)
    case temporary
    /// A file that Sheaf did not create and leaves alone.
    case foreign

    package init(_ name: String) {
        guard let dot = name.lastIndex(of: ".") else {
            self = .foreign
            return
        }
        switch name[dot...] {
        case ".whole": self = AttachmentID(String(name[..<dot])).map(Self.complete) ?? .foreign
        case ".part": self = AttachmentID(String(name[..<dot])).map(Self.partial) ?? .foreign
        default: self = FileName(name) == .temporary ? .temporary : .foreign
        }
    }
}
