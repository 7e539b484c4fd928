import SheafBytes
import SheafStorage

/// The state of a simulated volume, and the effect of each call on it.
struct SimulatedDisk: Sendable {
    /// The outcome of a call.
    enum CallOutcome: Sendable {
        case proceed, short, flipped, crash
        case fail(VolumeError.Code)
    }

    /// Maximum number of calls in a trace.
    private static let maximumTrace = 200

    var directory: SimulatedDirectory
    var inodes: [SimulatedInode]
    private var random: SeededRandom
    /// Source of file identities, distinct between files and between restarts of the disk.
    private var births: SeededRandom

    var isLocked = false
    /// The number of power cuts, which distinguishes restarted systems.
    private(set) var restarts = 0
    var processIdentifier: Int32 = 4_711
    private(set) var counters = SimulatedCounters()
    private(set) var isPowerCut = false
    var crashCall = Int.max
    var faults: [SimulatedFault] = []
    var quota: Int?
    var ignoresDataFlushes = false
    var ignoresDirectoryFlushes = false
    var trace: [SimulatedCall]?

    /// Creates a disk on which these names and files are durable.
    init(seed: UInt64, entries: [SimulatedDirectory.Entry], inodes: [SimulatedInode]) {
        directory = SimulatedDirectory(entries)
        self.inodes = inodes
        random = SeededRandom(seed: seed, "disk")
        births = SeededRandom(seed: seed, "births")
    }

    /// Returns one possible state of the disk after a power cut.
    func afterPowerCut(seed: UInt64) -> SimulatedDisk {
        var random = SeededRandom(seed: seed, "power cut")
        let mode = PowerCutMode(rawValue: random.below(4)) ?? .nothing
        var entries = directory.afterPowerCut(mode, &random)
        var files: [SimulatedInode] = []
        files.reserveCapacity(entries.count)
        for index in entries.indices {
            files.append(inodes[entries[index].inode].afterPowerCut(mode, &random))
            entries[index].inode = index
        }
        var disk = reborn(SimulatedDisk(seed: random.next(), entries: entries, inodes: files))
        disk.restarts = restarts + 1
        return disk
    }

    /// Returns the disk as a new process finds it after a process crash without a power cut.
    func afterProcessDeath(seed: UInt64) -> SimulatedDisk {
        var disk = reborn(SimulatedDisk(seed: seed, entries: [], inodes: []))
        disk.directory = directory
        disk.inodes = inodes.map { $0.afterProcessDeath() }
        return disk
    }

    /// Returns the same contents in newly created files.
    func withNewFiles(_ seed: UInt64) -> SimulatedDisk {
        var disk = self
        var births = SeededRandom(seed: seed, "copies")
        for index in disk.inodes.indices { disk.inodes[index].birth = births.next() }
        return disk
    }

    /// Returns the identity of a file as from `fstat`; each write or truncation changes it.
    mutating func identity(of name: String) throws(VolumeError) -> UInt64 {
        try beginComplete(.open, name)
        guard let inode = directory.inode(name) else {
            throw VolumeError(.open, name, .noSuchFile)
        }
        return withUnsafeBytes(of: (inodes[inode].birth, inodes[inode].changeCount)) {
            XXH3.hash64($0)
        }
    }

    /// Returns the identity of a new file.
    mutating func drawBirth() -> UInt64 { births.next() }

    /// Whether a power cut can leave the disk in one state only.
    var isSettled: Bool {
        directory.isSettled && inodes.allSatisfy(\.isSettled)
    }

    /// Returns `disk` with the settings that survive a restart.
    private func reborn(_ disk: SimulatedDisk) -> SimulatedDisk {
        var disk = disk
        // Files created after the restart differ from all files created before it.
        var later = births
        disk.births = SeededRandom(seed: later.next() ^ disk.births.next(), "births")
        disk.quota = quota
        disk.restarts = restarts
        disk.ignoresDataFlushes = ignoresDataFlushes
        disk.ignoresDirectoryFlushes = ignoresDirectoryFlushes
        disk.trace = trace.map { _ in [] }
        return disk
    }

    /// Counts a call and decides its outcome.
    private mutating func begin(
        _ operation: VolumeError.Operation, _ name: String, at offset: Int = 0, count: Int = 0
    ) throws(VolumeError) -> CallOutcome {
        guard !isPowerCut else { throw VolumeError(operation, name, .powerCut) }
        counters.count(operation)
        let verdict = verdict(operation, name)
        if let length = trace?.count {
            if length >= Self.maximumTrace { trace?.removeFirst() }
            trace?.append(
                SimulatedCall(
                    number: counters.total, operation: operation, name: name, offset: offset,
                    count: count, verdict: verdict))
        }
        return verdict
    }

    private mutating func verdict(
        _ operation: VolumeError.Operation, _ name: String
    ) -> CallOutcome {
        if operation.changesDisk, counters.mutating >= crashCall {
            isPowerCut = true
            return .crash
        }
        guard !faults.isEmpty else { return .proceed }
        // Every fault counts the call; the first that matches decides.
        var hit: Int?
        for index in faults.indices where faults[index].hits(operation, name) {
            hit = hit ?? index
        }
        guard let hit else { return .proceed }
        let fault = faults[hit]
        if !fault.isSticky { faults.remove(at: hit) }
        switch fault.effect {
        case .error(let code): return .fail(code)
        case .short: return .short
        case .flipped: return .flipped
        }
    }

    /// Begins an atomic read-only call: it succeeds or throws.
    mutating func beginComplete(
        _ operation: VolumeError.Operation, _ name: String
    ) throws(VolumeError) {
        switch try begin(operation, name) {
        case .proceed, .short, .flipped: return
        case .fail(let code): throw VolumeError(operation, name, code)
        case .crash: throw VolumeError(operation, name, .powerCut)
        }
    }

    /// Performs a change or throws; a power cut occurs before or after the change.
    mutating func change(
        _ operation: VolumeError.Operation, _ name: String,
        _ body: (inout SimulatedDisk) throws(VolumeError) -> Void
    ) throws(VolumeError) {
        switch try begin(operation, name) {
        case .proceed, .short, .flipped:
            try body(&self)
            counters.changes += 1
        case .fail(let code):
            throw VolumeError(operation, name, code)
        case .crash:
            if random.chance(1, in: 2) { try body(&self) }
            throw VolumeError(operation, name, .powerCut)
        }
    }
}

extension SimulatedDisk {
    /// Reads the bytes that processes see.
    mutating func read(
        _ inode: Int, _ name: String, into buffer: UnsafeMutableRawBufferPointer, at offset: Int
    ) throws(VolumeError) -> Int {
        let verdict = try begin(.read, name, at: offset, count: buffer.count)
        let content = inodes[inode].current
        var count = max(0, min(buffer.count, content.size - offset))
        switch verdict {
        case .proceed, .flipped: break
        case .short: if count > 1 { count = 1 + random.below(count - 1) }
        case .fail(let code): throw VolumeError(.read, name, code)
        case .crash: throw VolumeError(.read, name, .powerCut)
        }
        guard let target = buffer.baseAddress, count > 0 else { return 0 }
        target.copyMemory(from: content.bytes.base + offset, byteCount: count)
        if case .flipped = verdict { buffer[random.below(count)] ^= 1 << UInt8(random.below(8)) }
        return count
    }

    /// Writes the bytes that processes see; the change stays pending.
    mutating func write(
        _ inode: Int, _ name: String, _ bytes: UnsafeRawBufferPointer, at offset: Int
    ) throws(VolumeError) -> Int {
        let room = roomForWrite(inode, bytes.count, at: offset)
        switch try begin(.write, name, at: offset, count: bytes.count) {
        case .proceed where room >= bytes.count, .flipped where room >= bytes.count:
            put(inode, bytes, bytes.count, at: offset)
            return bytes.count
        case .proceed, .flipped:
            // A full disk writes at most the bytes that fit, and fails in this or the next call.
            let count = random.below(room + 1)
            put(inode, bytes, count, at: offset)
            guard count == 0 || random.chance(1, in: 2) else { return count }
            throw VolumeError(.write, name, .noSpace)
        case .short:
            let count = min(room, bytes.count > 1 ? 1 + random.below(bytes.count - 1) : bytes.count)
            put(inode, bytes, count, at: offset)
            guard count > 0 || bytes.isEmpty else { throw VolumeError(.write, name, .noSpace) }
            return count
        case .fail(let code):
            // An interrupted write (`EINTR`) has written nothing.
            if code != .interrupted { putPart(inode, bytes, room, at: offset) }
            throw VolumeError(.write, name, code)
        case .crash:
            putPart(inode, bytes, room, at: offset)
            throw VolumeError(.write, name, .powerCut)
        }
    }

    /// Makes the bytes of a file durable, unless the disk ignores flushes or fails.
    mutating func synchronize(_ inode: Int, _ name: String) throws(VolumeError) {
        switch try begin(.synchronize, name) {
        case .proceed, .short, .flipped:
            if !ignoresDataFlushes { inodes[inode].synchronize() }
            counters.changes += 1
        case .fail(.interrupted):
            // An interrupted flush has marked no page clean.
            throw VolumeError(.synchronize, name, .interrupted)
        case .fail(let code):
            inodes[inode].loseChanges(&random)
            counters.changes += 1
            throw VolumeError(.synchronize, name, code)
        case .crash:
            // `afterPowerCut` decides which bytes became durable before the power cut.
            throw VolumeError(.synchronize, name, .powerCut)
        }
    }

    /// Changes the size that processes see; the change stays pending.
    mutating func truncate(_ inode: Int, _ name: String, to size: Int) throws(VolumeError) {
        try change(.truncate, name) { disk throws(VolumeError) in
            let old = disk.inodes[inode].current.size
            guard size <= old || disk.roomForWrite(inode, size - old, at: old) == size - old else {
                throw VolumeError(.truncate, name, .noSpace)
            }
            disk.inodes[inode].resize(to: size)
        }
    }

    /// Makes all names durable, unless the disk ignores flushes or fails.
    mutating func synchronizeNames(_ path: String) throws(VolumeError) {
        switch try begin(.synchronizeNames, path) {
        case .proceed, .short, .flipped:
            if !ignoresDirectoryFlushes { directory.synchronize() }
            counters.changes += 1
        case .fail(let code): throw VolumeError(.synchronizeNames, path, code)
        case .crash: throw VolumeError(.synchronizeNames, path, .powerCut)
        }
    }

    /// Frees the memory of a file that has no name and is not open.
    mutating func reclaim(_ inode: Int) {
        guard inodes[inode].openCount == 0, !directory.mentions(inode) else { return }
        inodes[inode] = SimulatedInode()
        inodes[inode].isNamed = false
    }

    private mutating func putPart(
        _ inode: Int, _ bytes: UnsafeRawBufferPointer, _ room: Int, at offset: Int
    ) {
        put(inode, bytes, random.below(min(room, bytes.count) + 1), at: offset)
    }

    private mutating func put(
        _ inode: Int, _ bytes: UnsafeRawBufferPointer, _ count: Int, at offset: Int
    ) {
        inodes[inode].write(UnsafeRawBufferPointer(rebasing: bytes[..<count]), at: offset)
        counters.bytesWritten += count
        if count > 0 { counters.changes += 1 }
    }

    /// Returns how many of `count` bytes fit into the quota.
    private func roomForWrite(_ inode: Int, _ count: Int, at offset: Int) -> Int {
        guard let quota else { return count }
        let used = inodes.reduce(0) { sum, inode in
            inode.isNamed || inode.openCount > 0 ? sum + inode.current.size : sum
        }
        let reachable = inodes[inode].current.size + max(0, quota - used)
        return max(0, min(count, reachable - offset))
    }
}
