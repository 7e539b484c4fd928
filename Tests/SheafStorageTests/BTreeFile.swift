import SheafStorage

/// A file of exported tree pages in memory, whose bytes a test may change while a tree uses them.
///
/// Page 1 is the root. Each page has 4,160 bytes and begins with the number of its entries (2
/// bytes), the level (1), the length of the prefix (1), the heap (2) and its unused bytes (2). The
/// weights are at 64 and 72, the heads at 80; the slots follow them.
struct BTreeFile {
    /// The bytes of some field of a page.
    struct Change {
        let page: Int
        let offset: Int
        let bytes: [UInt8]

        init(_ page: Int, _ offset: Int, _ bytes: UInt8...) {
            (self.page, self.offset, self.bytes) = (page, offset, bytes)
        }
    }

    private let bytes: [UInt8]
    let pageCount: Int

    /// Exports a tree of these keys, put in order, each with the same value.
    init(_ keys: [[UInt8]], value: BTreeValue = .empty, fanout: Int = 3) {
        var tree = BTree(fanout: fanout)
        for key in keys { _ = tree.put(key, value) }
        var file = [UInt8](repeating: 0, count: BTree.pageSize)
        tree.snapshot().exportPages { page in file += Array(page) }
        bytes = file
        pageCount = file.count / BTree.pageSize - 1
    }

    /// The number of entries of each page.
    var entryCounts: [Int] {
        (1...pageCount).map { page in
            Int(bytes[page * BTree.pageSize]) | Int(bytes[page * BTree.pageSize + 1]) << 8
        }
    }

    /// Returns the violated invariants of a tree whose pages change after it was opened.
    func violations(_ changes: [Change], fanout: Int = 3) throws -> [String] {
        let mapping = mapping(bytes)
        let tree = try BTree(adopting: mapping, pageCount: pageCount, fanout: fanout)
        for change in changes {
            for (index, byte) in change.bytes.enumerated() {
                let offset = change.page * BTree.pageSize + change.offset + index
                (mapping.base + offset).storeBytes(of: byte, as: UInt8.self)
            }
        }
        return tree.checkInvariants()
    }

    /// Returns the number of the page for which changed pages are refused; nil if they are a tree.
    func refusedPage(_ changes: [Change], fanout: Int = 3) throws -> Int? {
        var changed = bytes
        for change in changes {
            let start = change.page * BTree.pageSize + change.offset
            changed.replaceSubrange(start..<start + change.bytes.count, with: change.bytes)
        }
        do throws(BTreeDamage) {
            let tree = try BTree(
                adopting: mapping(changed), pageCount: pageCount, fanout: fanout)
            return tree.checkInvariants().isEmpty ? nil : 0
        } catch .page(let number) {
            return number
        } catch {
            throw error
        }
    }

    private func mapping(_ bytes: [UInt8]) -> FileMapping {
        let buffer = UnsafeMutableRawBufferPointer.allocate(
            byteCount: bytes.count, alignment: 4096)
        buffer.copyBytes(from: bytes)
        nonisolated(unsafe) let memory = buffer
        guard let base = buffer.baseAddress else { preconditionFailure("The buffer is not empty.") }
        return FileMapping(base: base, count: bytes.count) { memory.deallocate() }
    }
}
