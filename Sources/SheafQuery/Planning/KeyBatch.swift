package import SheafDocument

/// Keys of documents in one block of memory, with one prefix.
package final class KeyBatch {
    private let prefix: [UInt8]
    @exclusivity(unchecked) private var bytes: UnsafeMutableRawBufferPointer
    /// The end of each key.
    @exclusivity(unchecked) private var ends: [Int] = []

    /// Creates an empty batch of keys that begin with a prefix.
    package init(behind prefix: [UInt8] = []) {
        self.prefix = prefix
        bytes = .allocate(byteCount: 4_096, alignment: 8)
    }

    deinit {
        bytes.deallocate()
    }

    /// Number of keys.
    package var count: Int { ends.count }

    /// The key with a number, valid until the batch is changed.
    @inline(__always)
    package subscript(number: Int) -> UnsafeRawBufferPointer {
        let start = number == 0 ? 0 : ends[number - 1]
        return UnsafeRawBufferPointer(rebasing: bytes[start..<ends[number]])
    }

    /// Removes all keys.
    package func removeAll() {
        ends.removeAll(keepingCapacity: true)
    }

    /// Appends the key of an id.
    package func append(_ id: Value) {
        let start = ends.last ?? 0
        if case .string(let text) = id {
            reserve(start + prefix.count + text.utf8.count + 2)
            let rest = UnsafeMutableRawBufferPointer(rebasing: bytes[(start + prefix.count)...])
            if let length = SortKey.write(identityOf: text, to: rest) {
                write(prefix, at: start)
                ends.append(start + prefix.count + length)
                return
            }
        }
        if case .integer(let integer) = id {
            reserve(start + prefix.count + 16)
            let rest = UnsafeMutableRawBufferPointer(rebasing: bytes[(start + prefix.count)...])
            if let length = SortKey.write(identityOf: integer, to: rest) {
                write(prefix, at: start)
                ends.append(start + prefix.count + length)
                return
            }
        }
        let key = SortKey.identity(of: id, behind: prefix)
        reserve(start + key.count)
        write(key, at: start)
        ends.append(start + key.count)
    }

    /// Appends the key of an id that is a text; returns false if it has to be decoded.
    func append(text: UnsafeRawBufferPointer) -> Bool {
        let start = ends.last ?? 0
        reserve(start + prefix.count + text.count + 2)
        let rest = UnsafeMutableRawBufferPointer(rebasing: bytes[(start + prefix.count)...])
        guard let length = SortKey.write(identityOfText: text, to: rest) else { return false }
        write(prefix, at: start)
        ends.append(start + prefix.count + length)
        return true
    }

    /// Appends a complete key.
    func append(key: UnsafeRawBufferPointer) {
        let start = ends.last ?? 0
        reserve(start + key.count)
        UnsafeMutableRawBufferPointer(rebasing: bytes[start...]).copyMemory(from: key)
        ends.append(start + key.count)
    }

    private func write(_ part: [UInt8], at start: Int) {
        part.span.withUnsafeBytes {
            UnsafeMutableRawBufferPointer(rebasing: bytes[start...]).copyMemory(from: $0)
        }
    }

    private func reserve(_ length: Int) {
        guard length > bytes.count else { return }
        let larger = UnsafeMutableRawBufferPointer.allocate(
            byteCount: max(2 * bytes.count, length), alignment: 8)
        larger.copyMemory(from: UnsafeRawBufferPointer(bytes))
        bytes.deallocate()
        bytes = larger
    }
}
