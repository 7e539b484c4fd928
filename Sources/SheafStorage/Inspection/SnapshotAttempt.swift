import SheafBytes

/// One attempt to open the files of a listed directory.
struct SnapshotAttempt {
    /// The reason why an attempt must be repeated.
    enum Contradiction: Error {
        /// A file was removed between listing and opening it.
        case missingFile
        /// Names in the directory are newer than the mark.
        case olderMark
        /// The files lack bytes before the mark.
        case missingBytes
        /// The attempt has failed for another reason, and is not repeated.
        case failure(StorageError)
    }

    private typealias LogFile = DirectorySnapshot.LogFile

    private let volume: any Volume
    private let mark: SyncedMark?
    private let names: [String]
    private let previous: DirectorySnapshot?
    /// The mark that the files contradict, if the attempt is made without it.
    var contradictedMark: SyncedMark?
    /// Whether files that are missing by now are left out.
    var acceptsMissingFiles = false
    /// Whether log files stay open, for readers that must survive unreadable sectors of a disk.
    var holdsFiles = false
    private let bases: [ClosedRange<UInt32>]
    private let lastSegment: UInt32
    private var logFiles: [String: LogFile] = [:]
    private var checkpoints: [String: any VolumeFile] = [:]

    init(
        _ volume: any Volume, _ mark: SyncedMark?, _ names: [String],
        _ previous: DirectorySnapshot?
    ) {
        self.volume = volume
        self.mark = mark
        self.names = names
        if let mark, let known = previous?.mark, mark.owner.store != known.owner.store {
            // Another store in the directory has files of the same names.
            self.previous = nil
        } else {
            self.previous = previous
        }
        var bases: [ClosedRange<UInt32>] = []
        var last: UInt32 = 0
        for name in names {
            switch FileName(name) {
            case .base(let segments): bases.append(segments)
            case .segment(let number): last = max(last, number)
            default: break
            }
        }
        self.bases = bases
        lastSegment = last
    }

    /// Opens the files; throws if they contradict each other.
    mutating func run() throws(Contradiction) -> DirectorySnapshot {
        var listed: [String] = []
        var covered = bases
        for name in names {
            do throws(Contradiction) {
                guard try add(name) else { continue }
            } catch .failure(let error) {
                // The code that reads held files opens the file again, and reports the reason.
                guard holdsFiles else { throw .failure(error) }
            }
            listed.append(name)
            if case .segment(let number) = FileName(name) { covered.append(number...number) }
        }
        if let mark, !Self.covers(covered, through: mark.position.segment) {
            throw .missingBytes
        }
        return DirectorySnapshot(
            base: volume, mark: mark, contradictedMark: contradictedMark, names: listed,
            logFiles: logFiles, checkpoints: checkpoints)
    }

    /// Opens a file; returns false if it is not a part of the snapshot.
    private mutating func add(_ name: String) throws(Contradiction) -> Bool {
        switch FileName(name) {
        case .segment(let number):
            if bases.contains(where: { $0.contains(number) }) { return try addSuperseded(name) }
            if let mark, number > mark.position.segment { return false }
            return try addSegment(name, number)
        case .base(let segments):
            if let mark, segments.upperBound > mark.position.segment { throw .olderMark }
            return try addBase(name)
        case .checkpoint(let commit):
            if let mark, commit > mark.commit { throw .olderMark }
            return try addCheckpoint(name)
        case .closedMark(let commit):
            if let mark, commit > mark.commit { throw .olderMark }
            return true
        case .lock, .synced, .siteMark, .temporary, .attachments, .foreign:
            return true
        }
    }

    /// Whether the ranges contain all segments from 1 to `last`.
    private static func covers(_ ranges: [ClosedRange<UInt32>], through last: UInt32) -> Bool {
        var next: UInt64 = 1
        for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) {
            guard UInt64(range.lowerBound) <= next else { break }
            next = max(next, UInt64(range.upperBound) + 1)
        }
        return next > UInt64(last)
    }

    /// Opens a file; returns nil if it is missing and that is accepted.
    private func open(_ name: String) throws(Contradiction) -> (any VolumeFile)? {
        do throws(VolumeError) {
            return try volume.open(name, .read)
        } catch {
            guard error.code == .noSuchFile else { throw .failure(StorageError(error)) }
            guard acceptsMissingFiles else { throw .missingFile }
            return nil
        }
    }

    private mutating func addBase(_ name: String) throws(Contradiction) -> Bool {
        guard let file = try open(name) else { return false }
        logFiles[name] = try keeping(file) { () throws(VolumeError) in
            let size = min(try file.size(), Limits.maximumFileLength)
            // A base file may have been replaced by one of the same name, with another header.
            if let known = previous?.logFiles[name], known.count == size,
                let header = known.mapping?.bytes.prefix(SegmentHeader.length),
                try Self.start(of: file, length: size).elementsEqual(header)
            {
                return known
            }
            return LogFile(
                mapping: try file.map(length: size, .shared), count: size, isSealed: true)
        }
        return true
    }

    /// Returns the readable part of an open log file, which stays open if files are held.
    private func keeping(
        _ file: any VolumeFile, _ read: () throws(VolumeError) -> LogFile
    ) throws(Contradiction) -> LogFile {
        do throws(VolumeError) {
            var found = try read()
            if holdsFiles { found.file = file } else { file.close() }
            return found
        } catch {
            file.close()
            throw .failure(StorageError(error))
        }
    }

    /// Returns the bytes of the header of a file.
    private static func start(
        of file: any VolumeFile, length: Int
    ) throws(VolumeError) -> [UInt8] {
        let start = try FileMapping.copy(count: min(length, SegmentHeader.length)) {
            buffer throws(VolumeError) in
            try file.readFully(into: buffer, at: 0)
        }
        // The bytes are valid while the mapping exists.
        return withExtendedLifetime(start) { Array(start.bytes) }
    }

    private mutating func addCheckpoint(_ name: String) throws(Contradiction) -> Bool {
        if let known = previous?.checkpoints[name] {
            checkpoints[name] = known
            return true
        }
        guard let file = try open(name) else { return false }
        checkpoints[name] = file
        return true
    }

    /// Adds a segment that a base file has replaced; a writer may have removed it.
    private mutating func addSuperseded(_ name: String) throws(Contradiction) -> Bool {
        let file: any VolumeFile
        do throws(VolumeError) { file = try volume.open(name, .read) } catch {
            guard error.code == .noSuchFile else { throw .failure(StorageError(error)) }
            return false
        }
        logFiles[name] = try keeping(file) { () throws(VolumeError) in try sealedOrCopied(file) }
        return true
    }

    private mutating func addSegment(
        _ name: String, _ number: UInt32
    ) throws(Contradiction) -> Bool {
        if let known = previous?.logFiles[name], known.isSealed {
            logFiles[name] = known
            return true
        }
        guard let file = try open(name) else { return false }
        if let mark, mark.position.segment == number {
            let known = previous?.logFiles[name]
            var isComplete = true
            let found = try keeping(file) { () throws(VolumeError) in
                let found = try SealedPart.growing(file, to: mark, known)
                isComplete = found != nil
                return found ?? LogFile(mapping: nil, count: 0, isSealed: false)
            }
            guard isComplete else { throw .missingBytes }
            logFiles[name] = found
            return true
        }
        logFiles[name] = try keeping(file) { () throws(VolumeError) in
            let found = try sealedOrCopied(file)
            // Without a mark, it is unknown whether the bytes just read are on the disk. A sync
            // makes them durable; one prepared segment may follow the last one in use.
            if mark == nil, !holdsFiles, UInt64(number) + 1 >= UInt64(lastSegment) {
                try SealedPart.makeDurable(file)
            }
            return found
        }
        return true
    }

    private func sealedOrCopied(_ file: any VolumeFile) throws(VolumeError) -> LogFile {
        // The code that reads a held file reports its unreadable sectors.
        if holdsFiles {
            let size = try file.size()
            return LogFile(mapping: nil, count: size, isSealed: false)
        }
        if let sealed = try SealedPart.map(file) { return sealed }
        return try SealedPart.copy(file)
    }
}
