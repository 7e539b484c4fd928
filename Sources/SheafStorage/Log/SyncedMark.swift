import SheafBytes

/// The content of the file `SYNCED`: how far the log is durable (`format-spec/log.md`, table 8).
///
/// The writer updates it after each sync, so every state that ever reaches the disk is true.
package struct SyncedMark: Equatable, Sendable {
    /// The values that do not change while a writer has the store open.
    package struct Owner: Equatable, Sendable {
        package let store: StoreID
        /// The identity of the directory, which a copy does not share.
        package let directory: UInt64
        /// The identity of the running system: after a restart, all bytes read are on the disk.
        package let system: UInt64

        package init(store: StoreID, directory: UInt64, system: UInt64) {
            self.store = store
            self.directory = directory
            self.system = system
        }
    }

    package let owner: Owner
    /// The end of the last durable commit.
    package var position: LogPosition
    package var commit: CommitID
    /// The number of base files that the writer has put in place of others.
    package var replacements: UInt64

    package init(
        owner: Owner, position: LogPosition, commit: CommitID, replacements: UInt64 = 0
    ) {
        self.owner = owner
        self.position = position
        self.commit = commit
        self.replacements = replacements
    }

    /// "SHEAFSYN".
    static let magic: UInt64 = 0x4E59_5346_4145_4853
    static let formatVersion: UInt32 = 1
    package static let length = 96
    /// The offset of the part that each sync changes.
    static let stateOffset = 64

    /// The offsets of the fields.
    enum Layout {
        static let magic = 0
        static let version = 8
        static let reserved = 12
        static let storeLow = 16
        static let storeHigh = 24
        static let directory = 32
        static let system = 40
        static let checksum = 48
        static let padding = 56
        static let position = 64
        static let commit = 72
        static let replacements = 80
        static let stateChecksum = 88
    }

    /// Returns the 96 bytes of the mark.
    package func encoded() -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: Self.length)
        bytes.withUnsafeMutableBytes { target in
            target.store(Self.magic, at: Layout.magic)
            target.store(Self.formatVersion, at: Layout.version)
            target.store(owner.store.low, at: Layout.storeLow)
            target.store(owner.store.high, at: Layout.storeHigh)
            target.store(owner.directory, at: Layout.directory)
            target.store(owner.system, at: Layout.system)
            let covered = UnsafeRawBufferPointer(target).slice(0..<Layout.checksum)
            let checksum = XXH3.hash64(covered)
            target.store(checksum, at: Layout.checksum)
            target.store(position.rawValue, at: Layout.position)
            target.store(commit, at: Layout.commit)
            target.store(replacements, at: Layout.replacements)
            let state = UnsafeRawBufferPointer(target).slice(
                Self.stateOffset..<Layout.stateChecksum)
            target.store(XXH3.hash64(state, seed: checksum), at: Layout.stateChecksum)
        }
        return bytes
    }

    /// Decodes a mark; nil if it is incomplete, invalid or of an unknown version.
    package init?(decoding bytes: UnsafeRawBufferPointer) {
        guard bytes.count >= Self.length,
            bytes.loadInteger(Layout.magic) as UInt64 == Self.magic,
            bytes.loadInteger(Layout.version) as UInt32 == Self.formatVersion
        else { return nil }
        let checksum: UInt64 = bytes.loadInteger(Layout.checksum)
        guard checksum == XXH3.hash64(bytes.slice(0..<Layout.checksum)) else { return nil }
        let state = bytes.slice(Self.stateOffset..<Layout.stateChecksum)
        guard bytes.loadInteger(Layout.stateChecksum) == XXH3.hash64(state, seed: checksum) else {
            return nil
        }
        self.init(
            owner: Owner(
                store: StoreID(
                    low: bytes.loadInteger(Layout.storeLow),
                    high: bytes.loadInteger(Layout.storeHigh)),
                directory: bytes.loadInteger(Layout.directory),
                system: bytes.loadInteger(Layout.system)),
            position: LogPosition(rawValue: bytes.loadInteger(Layout.position)),
            commit: bytes.loadInteger(Layout.commit),
            replacements: bytes.loadInteger(Layout.replacements))
    }

    /// Whether the mark is the newest possible one of `volume`.
    ///
    /// A mark of a copied directory, or of a system that has restarted, may be older than the log.
    package func isCurrent(in volume: any Volume) -> Bool {
        owner.system != 0 && owner.system == volume.systemIdentity
            && owner.directory == volume.identity
    }
}

extension SyncedMark {
    /// The number of times that a mark with a wrong checksum is read.
    private static let maximumReads = 64

    /// Reads the mark of the running system; nil if there is none.
    static func current(in volume: any Volume) -> SyncedMark? {
        guard let file = try? volume.open(FileName.syncedName, .read) else { return nil }
        defer { file.close() }
        return withUnsafeTemporaryAllocation(byteCount: length, alignment: 8) { buffer in
            // A read that overlaps a write may return a mixture, which the checksum reveals.
            for _ in 0..<maximumReads {
                do throws(VolumeError) { try file.readFully(into: buffer, at: 0) } catch {
                    return nil
                }
                if let mark = SyncedMark(decoding: UnsafeRawBufferPointer(buffer)) {
                    return mark.isCurrent(in: volume) ? mark : nil
                }
            }
            return nil
        }
    }
}
