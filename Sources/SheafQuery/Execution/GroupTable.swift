import SheafDocument

/// A hash table that numbers groups by their encoded keys.
///
/// Equal values have equal keys: 1 and 1.0 are in one group.
final class GroupTable {
    private struct Slot {
        var hash: UInt32
        /// The number of the group plus one; zero in an empty slot.
        var group: UInt32
    }

    private struct Key {
        let offset: Int
        let length: Int
        let hash: UInt32
        let kind: UInt8
    }

    @exclusivity(unchecked) private var slots: UnsafeMutablePointer<Slot>
    @exclusivity(unchecked) private var mask: Int
    /// The bytes of all keys.
    @exclusivity(unchecked) private var bytes: UnsafeMutableRawPointer
    @exclusivity(unchecked) private var byteCount = 0
    @exclusivity(unchecked) private var byteCapacity = 1_024
    @exclusivity(unchecked) private var keys: [Key] = []
    private let seed = KeyHash.seed

    /// The kind of keys that a `GroupKeyWriter` composes.
    private static let composed: UInt8 = 0xFF

    /// Creates an empty table.
    init() {
        mask = 63
        slots = .allocate(capacity: mask + 1)
        slots.initialize(repeating: Slot(hash: 0, group: 0), count: mask + 1)
        bytes = .allocate(byteCount: byteCapacity, alignment: 8)
    }

    deinit {
        slots.deallocate()
        bytes.deallocate()
    }

    /// Memory of a key besides its bytes, with the empty slots.
    static let overhead = MemoryLayout<Key>.stride + 4 * MemoryLayout<Slot>.stride

    /// Number of groups.
    @inline(__always)
    var count: Int { keys.count }

    /// Returns the group of an element, which must not be of the kind `other`.
    @inline(__always)
    func find(_ element: FieldElement) -> Int {
        if element.kind == .string { return find(element.kind.rawValue, element.text) }
        return findPlain(element)
    }

    private func findPlain(_ element: FieldElement) -> Int {
        let (kind, word) = element.identity
        return withUnsafeBytes(of: word) { find(kind.rawValue, $0) }
    }

    /// Returns the group of a value; nil is a missing one.
    func find(_ value: Value?) -> Int {
        switch value {
        case .string(let text)?:
            var text = text
            return text.withUTF8 {
                find(FieldElement.Kind.string.rawValue, UnsafeRawBufferPointer($0))
            }
        case .bytes?, .array?, .object?:
            let key = value.map { SortKey.identity(of: $0) } ?? []
            return key.span.withUnsafeBytes { find(FieldElement.Kind.other.rawValue, $0) }
        default: return findPlain(FieldElement(plain: value))
        }
    }

    /// Returns the group of a composed key.
    func find(_ writer: GroupKeyWriter) -> Int {
        writer.bytes.span.withUnsafeBytes { find(Self.composed, $0) }
    }

    /// Returns the group of a composed key; nil if there is none.
    func known(_ writer: GroupKeyWriter) -> Int? {
        writer.bytes.span.withUnsafeBytes { key in
            let hash = hash(Self.composed, key)
            var index = Int(hash) & mask
            while slots[index].group != 0 {
                let group = Int(slots[index].group) - 1
                if slots[index].hash == hash, isKey(group, Self.composed, key) { return group }
                index = (index &+ 1) & mask
            }
            return nil
        }
    }

    @inline(__always)
    private func hash(_ kind: UInt8, _ key: UnsafeRawBufferPointer) -> UInt32 {
        UInt32(truncatingIfNeeded: KeyHash.hash(key, seed ^ UInt64(kind) &* KeyHash.factor))
    }

    @inline(__always)
    private func find(_ kind: UInt8, _ key: UnsafeRawBufferPointer) -> Int {
        let hash = hash(kind, key)
        var index = Int(hash) & mask
        while true {
            let slot = slots[index]
            guard slot.group != 0 else { return add(kind, key, hash, at: index) }
            if slot.hash == hash, isKey(Int(slot.group) - 1, kind, key) {
                return Int(slot.group) - 1
            }
            index = (index &+ 1) & mask
        }
    }

    @inline(__always)
    private func isKey(_ group: Int, _ kind: UInt8, _ key: UnsafeRawBufferPointer) -> Bool {
        let known = keys[group]
        guard known.length == key.count, known.kind == kind else { return false }
        guard let base = key.baseAddress, !key.isEmpty else { return true }
        return KeyHash.areEqual(bytes + known.offset, base, known.length)
    }

    @inline(never)
    private func add(
        _ kind: UInt8, _ key: UnsafeRawBufferPointer, _ hash: UInt32, at index: Int
    ) -> Int {
        precondition(keys.count < Int(Int32.max), "A statement has fewer groups than 2³¹.")
        if byteCount + key.count > byteCapacity {
            byteCapacity = max(2 * byteCapacity, byteCount + key.count)
            let larger = UnsafeMutableRawPointer.allocate(byteCount: byteCapacity, alignment: 8)
            larger.copyMemory(from: bytes, byteCount: byteCount)
            bytes.deallocate()
            bytes = larger
        }
        if let base = key.baseAddress {
            (bytes + byteCount).copyMemory(from: base, byteCount: key.count)
        }
        keys.append(Key(offset: byteCount, length: key.count, hash: hash, kind: kind))
        byteCount += key.count
        slots[index] = Slot(hash: hash, group: UInt32(keys.count))
        if keys.count * 2 > mask { grow() }
        return keys.count - 1
    }

    private func grow() {
        slots.deallocate()
        mask = 2 * mask + 1
        slots = .allocate(capacity: mask + 1)
        slots.initialize(repeating: Slot(hash: 0, group: 0), count: mask + 1)
        for (group, key) in keys.enumerated() {
            var index = Int(key.hash) & mask
            while slots[index].group != 0 { index = (index + 1) & mask }
            slots[index] = Slot(hash: key.hash, group: UInt32(group + 1))
        }
    }
}

/// A writer of keys of several values.
struct GroupKeyWriter {
    fileprivate var bytes: [UInt8] = []

    /// Creates a writer without values.
    init() {
        bytes.reserveCapacity(64)
    }

    /// Number of bytes of the key.
    var byteCount: Int { bytes.count }

    /// A hash that is independent of those in tables.
    var hash: UInt64 { bytes.span.withUnsafeBytes { KeyHash.hash($0, ~KeyHash.seed) } }

    /// Removes all values.
    mutating func removeAll() {
        bytes.removeAll(keepingCapacity: true)
    }

    /// Appends an element, which must not be of the kind `other`.
    mutating func append(_ element: FieldElement) {
        guard element.kind != .string else { return append(.string, element.text) }
        let (kind, word) = element.identity
        bytes.append(kind.rawValue)
        guard kind == .integer || kind == .float else { return }
        withUnsafeBytes(of: word) { bytes.append(contentsOf: $0) }
    }

    /// Appends a value; nil for a missing one.
    mutating func append(_ value: Value?) {
        switch value {
        case .string(let text)?: append(.string, Array(text.utf8))
        case .bytes?, .array?, .object?:
            append(.other, value.map { SortKey.identity(of: $0) } ?? [])
        default: append(FieldElement(plain: value))
        }
    }

    private mutating func append(_ kind: FieldElement.Kind, _ content: [UInt8]) {
        content.withUnsafeBytes { append(kind, $0) }
    }

    private mutating func append(_ kind: FieldElement.Kind, _ content: UnsafeRawBufferPointer) {
        bytes.append(kind.rawValue)
        withUnsafeBytes(of: UInt32(truncatingIfNeeded: content.count)) {
            bytes.append(contentsOf: $0)
        }
        bytes.append(contentsOf: content)
    }
}

/// The hash and the comparison of keys in memory.
enum KeyHash {
    /// The random seed of the process, so that documents cannot be chosen to have equal hashes.
    static let seed = UInt64(bitPattern: Int64(Hasher().finalize()))
    static let factor: UInt64 = 0x9E37_79B9_7F4A_7C15

    /// Returns the hash of a key.
    @inline(__always)
    static func hash(_ key: UnsafeRawBufferPointer, _ seed: UInt64) -> UInt64 {
        guard let base = key.baseAddress else { return mix(seed) }
        var state = seed ^ UInt64(truncatingIfNeeded: key.count)
        var (offset, rest) = (0, key.count)
        while rest >= 8 {
            state = mix(state ^ base.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
            offset &+= 8
            rest &-= 8
        }
        var tail: UInt64 = 0
        if rest >= 4 {
            let first = base.loadUnaligned(fromByteOffset: offset, as: UInt32.self)
            let last = base.loadUnaligned(fromByteOffset: offset &+ rest &- 4, as: UInt32.self)
            tail = UInt64(first) &<< 32 | UInt64(last)
        } else if rest > 0 {
            let first = base.load(fromByteOffset: offset, as: UInt8.self)
            let middle = base.load(fromByteOffset: offset &+ rest / 2, as: UInt8.self)
            let last = base.load(fromByteOffset: offset &+ rest &- 1, as: UInt8.self)
            tail = UInt64(first) &<< 16 | UInt64(middle) &<< 8 | UInt64(last)
        }
        return mix(state ^ tail)
    }

    /// Folds the product with an odd constant, so that all bits depend on each other.
    @inline(__always)
    private static func mix(_ word: UInt64) -> UInt64 {
        let (high, low) = (word ^ factor).multipliedFullWidth(by: 0xD6E8_FEB8_6659_FD93)
        return high ^ low
    }

    /// Whether two keys of `count` bytes are equal.
    @inline(__always)
    static func areEqual(
        _ left: UnsafeRawPointer, _ right: UnsafeRawPointer, _ count: Int
    ) -> Bool {
        var offset = 0
        while offset &+ 8 <= count {
            guard
                left.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
                    == right.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
            else { return false }
            offset &+= 8
        }
        while offset < count {
            guard
                left.load(fromByteOffset: offset, as: UInt8.self)
                    == right.load(fromByteOffset: offset, as: UInt8.self)
            else { return false }
            offset &+= 1
        }
        return true
    }
}
