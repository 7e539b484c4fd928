package import SheafStorage
import Synchronization

/// The files that documents name, in a directory beside the log (`format-spec/attachments.md`).
///
/// A file has the name of its contents, so it is there once, and comes and goes with one rename. Nothing
/// counts before it is durable, and nothing is believed that was not compared with its hash.
package final class AttachmentStore: Sendable {
    package struct Options: Sendable {
        package var isReadOnly = false
        /// How many bytes all files may have together; none means as many as the disk takes.
        package var maximumLength: Int?
        /// How many chunks are made durable together.
        package var chunksPerSync = 16
        package var clock = Clock.system
        package var random: @Sendable () -> UInt64 = { OperatingSystem.randomInteger() }

        package init() {}
    }

    /// Where a file stands.
    enum Kind: Sendable {
        case whole
        /// Some of it is here; nobody may have opened it yet.
        case part(IncomingAttachment?)
    }

    struct Entry: Sendable {
        var kind: Kind
        /// When it was seen that no document names the file, 0 where it was not; none where that is
        /// not known yet.
        var unnamedSince: UInt64?
        /// Of files that were added or begun here.
        var length = 0
    }

    struct State: Sendable {
        var entries: [AttachmentID: Entry] = [:]
        var volume: (any Volume)?
        var isLoaded = false
        var isClosed = false
        /// The bytes of files that are here, come, or are being added.
        var usedLength = 0
    }

    let options: Options
    private let parent: any Volume
    let state = Mutex(State())
    /// Held while names change, so that the directory and what is known of it change together.
    ///
    /// Whoever has it may take the lock of the state, and never that of a file that comes in.
    private let names = Mutex(())

    private let mayHoldFiles = Atomic(false)

    /// Looks after the files beside the log in `parent`; makes no call before it is asked something.
    package init(in parent: any Volume, options: Options = Options()) {
        self.parent = parent
        self.options = options
    }

    // MARK: Opening and closing

    /// Reads which files are here, and removes what was not completed.
    package func load() throws(AttachmentError) {
        guard try !known().isLoaded else { return }
        try changingNames { () throws(AttachmentError) in
            guard try !known().isLoaded else { return }
            let volume = try onVolume { () throws(VolumeError) in
                try parent.directory(FileName.attachmentsName, creating: false)
            }
            var entries: [AttachmentID: Entry] = [:]
            for name in try onVolume({ () throws(VolumeError) in try volume?.names() ?? [] }) {
                switch AttachmentName(name) {
                case .whole(let id):
                    // A crash left the part, from which the whole was made by somebody else.
                    if entries[id] != nil { discard(AttachmentFile.name(ofPart: id), in: volume) }
                    entries[id] = Entry(kind: .whole)
                case .part(let id):
                    if entries[id] == nil {
                        entries[id] = Entry(kind: .part(nil))
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
            if !entries.isEmpty { noteFile() }
        }
    }

    /// Refuses everything from now on; what was opened can still be read.
    package func close() {
        names.withLock { _ in state.withLock { $0.isClosed = true } }
    }

    /// Removes what does not count; where that fails, it still does not count.
    private func discard(_ name: String, in volume: (any Volume)?) {
        guard !options.isReadOnly else { return }
        try? volume?.remove(name)
    }

    // MARK: What there is

    /// Whether there may be any file: a hint that costs no lock.
    var holdsFiles: Bool { mayHoldFiles.load(ordering: .relaxed) }

    func noteFile() { mayHoldFiles.store(true, ordering: .relaxed) }

    /// Whether all of a file is here.
    package func has(_ id: AttachmentID) throws(AttachmentError) -> Bool {
        guard case .whole? = try entry(id)?.kind else { return false }
        return true
    }

    /// All files that are here, if only in part.
    package var ids: [AttachmentID] {
        get throws(AttachmentError) {
            try load()
            return Array(try known().entries.keys)
        }
    }

    /// A file that is here, to be read; nil where it is not, or not all of it.
    package func file(_ id: AttachmentID) throws(AttachmentError) -> AttachmentFile? {
        guard case .whole? = try entry(id)?.kind, let volume = try known().volume else {
            return nil
        }
        do throws(AttachmentError) {
            return try AttachmentFile.open(id, isWhole: true, in: volume)
        } catch .volume(let error) where error.code == .noSuchFile {
            return nil
        }
    }

    func entry(_ id: AttachmentID) throws(AttachmentError) -> Entry? {
        try load()
        return try known().entries[id]
    }

    /// What is known, unless the store was closed.
    func known() throws(AttachmentError) -> State {
        let state = state.withLock { $0 }
        guard !state.isClosed else { throw .closed }
        return state
    }

    /// Notes that a commit is about to name a file: it stays for a while, also without one.
    package func touch(_ id: AttachmentID) {
        state.withLock { state in
            guard state.entries[id] != nil else { return }
            state.entries[id]?.unnamedSince = 0
        }
    }

    // MARK: Changes

    /// The directory, which is made if it is missing.
    func writableVolume() throws(AttachmentError) -> any Volume {
        guard !options.isReadOnly else { throw .readOnly }
        try load()
        if let volume = try known().volume { return volume }
        return try changingNames { () throws(AttachmentError) in
            if let volume = try known().volume { return volume }
            let made = try onVolume { () throws(VolumeError) in
                try parent.directory(FileName.attachmentsName, creating: true)
            }
            guard let made else { preconditionFailure("What was to be made is there.") }
            state.withLock { $0.volume = made }
            return made
        }
    }

    /// Runs what changes names, one at a time.
    func changingNames<Result: Sendable>(
        _ body: () throws(AttachmentError) -> Result
    ) throws(AttachmentError) -> Result {
        try names.withLock { _ throws(AttachmentError) in
            _ = try known()
            return try body()
        }
    }

    /// Makes room for a file, or says that there is none.
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

    /// Gives a file its name, which is complete and durable, and for which so much room was made; returns
    /// when the name is durable, too.
    func publish(
        _ name: String, as id: AttachmentID, length: Int, reserved: Int
    ) throws(AttachmentError) {
        let volume = try writableVolume()
        let before = try changingNames { () throws(AttachmentError) -> Entry? in
            let before = try known().entries[id]
            let whole = AttachmentFile.name(ofWhole: id)
            // Where it is here already, it is replaced: the other one may be damaged.
            try onVolume { () throws(VolumeError) in try volume.rename(name, to: whole) }
            do throws(VolumeError) { try volume.synchronizeNames() } catch {
                if case .whole? = before?.kind { throw .volume(error) }
                // What is not known to last does not count, and can be completed once more.
                try? volume.rename(whole, to: name)
                throw .volume(error)
            }
            if case .part? = before?.kind, name != AttachmentFile.name(ofPart: id) {
                try? volume.remove(AttachmentFile.name(ofPart: id))
            }
            noteFile()
            state.withLock { state in
                state.entries[id] = Entry(kind: .whole, unnamedSince: 0, length: length)
                state.usedLength += length - reserved - (before?.length ?? 0)
            }
            return before
        }
        if case .part(let incoming?)? = before?.kind, name != AttachmentFile.name(ofPart: id) {
            incoming.end(isWhole: true)
        }
    }
}

/// What the name of a file in the directory says.
enum AttachmentName {
    case whole(AttachmentID)
    case part(AttachmentID)
    case temporary
    /// A file that is none of ours, left alone.
    case foreign

    init(_ name: String) {
        guard let dot = name.lastIndex(of: ".") else {
            self = .foreign
            return
        }
        switch name[dot...] {
        case ".whole": self = AttachmentID(String(name[..<dot])).map(Self.whole) ?? .foreign
        case ".part": self = AttachmentID(String(name[..<dot])).map(Self.part) ?? .foreign
        default: self = FileName(name) == .temporary ? .temporary : .foreign
        }
    }
}
