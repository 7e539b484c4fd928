import SheafBytes

extension BTreeView {
    /// Calls `body` with the entries in `range`, in order, until it returns false or throws.
    func forEach<Failure: Error>(
        in range: KeyRange, reversed: Bool,
        _ body: (_ key: UnsafeRawBufferPointer, _ value: BTreeValue) throws(Failure) -> Bool
    ) throws(Failure) {
        try forEachRun(in: range, reversed: reversed) {
            (page, entries, buffer) throws(Failure) in
            page.writePrefix(to: buffer)
            var (index, left) = (
                reversed ? entries.upperBound &- 1 : entries.lowerBound, entries.count
            )
            while left > 0 {
                let count = page.writeSuffix(index, to: buffer)
                let key = UnsafeRawBufferPointer(start: buffer, count: count)
                guard try body(key, page.value(index)) else { return false }
                index &+= reversed ? -1 : 1
                left &-= 1
            }
            return true
        }
    }

    /// Calls `body` with the entries in `range`, leaf by leaf, until it returns false or throws.
    ///
    /// `body` also receives a buffer for a key. If `reversed`, leaves are visited from the last one
    /// on, and `body` must reverse the order of their entries.
    @inline(__always)
    func forEachRun<Failure: Error>(
        in range: KeyRange, reversed: Bool,
        _ body: (
            _ page: BTreePage, _ entries: Range<Int>, _ buffer: UnsafeMutableRawPointer
        ) throws(Failure) -> Bool
    ) throws(Failure) {
        // The temporary allocation functions do not support typed errors, so the error is stored.
        var failure: Failure?
        withUnsafeTemporaryAllocation(of: BTreeStep.self, capacity: Self.maximumDepth) { steps in
            withUnsafeTemporaryAllocation(
                byteCount: BTree.maximumKeyCount, alignment: 8
            ) { buffer in
                guard let steps = steps.baseAddress, let key = buffer.baseAddress else { return }
                do throws(Failure) {
                    if reversed {
                        try visitBackward(range, BTreePath(steps), key, body)
                    } else {
                        try visitForward(range, BTreePath(steps), key, body)
                    }
                } catch {
                    failure = error
                }
            }
        }
        if let failure { throw failure }
    }

    @inline(__always)
    private func visitForward<Failure: Error>(
        _ range: KeyRange, _ path: BTreePath, _ buffer: UnsafeMutableRawPointer,
        _ body: (BTreePage, Range<Int>, UnsafeMutableRawPointer) throws(Failure) -> Bool
    ) throws(Failure) {
        seek(path, to: range.lower)
        repeat {
            let page = page(path.page(0))
            // The end is computed once per leaf, which avoids comparing each key with it.
            let (start, end) = (path.index(0), end(of: range, on: page))
            if start < end {
                guard try body(page, Range(uncheckedBounds: (start, end)), buffer) else { return }
            }
            if end < page.count { return }
            guard path.nextLeaf(self) else { return }
            self.page(path.page(0)).fetchRecords(noting: buffer)
        } while true
    }

    @inline(__always)
    private func visitBackward<Failure: Error>(
        _ range: KeyRange, _ path: BTreePath, _ buffer: UnsafeMutableRawPointer,
        _ body: (BTreePage, Range<Int>, UnsafeMutableRawPointer) throws(Failure) -> Bool
    ) throws(Failure) {
        var end: Int
        if let upper = range.upper {
            seek(path, to: upper)
            end = path.index(0)
        } else {
            path.last(self)
            end = page(path.page(0)).count
        }
        while true {
            let page = page(path.page(0))
            let start = range.lower.isEmpty ? 0 : pointer(of: range.lower, on: page)
            if start < end {
                guard try body(page, Range(uncheckedBounds: (start, end)), buffer) else { return }
            }
            guard start == 0, path.previousLeaf(self) else { return }
            self.page(path.page(0)).fetchRecords(noting: buffer)
            end = path.index(0) &+ 1
        }
    }

    /// Moves to the first entry at or after `key`, possibly one past the last entry of a leaf.
    func seek(_ path: BTreePath, to key: [UInt8]) {
        key.withUnsafeBytes { bytes in
            guard let key = BTreeKey(bytes) else { return path.first(self) }
            _ = path.descend(self, to: key)
        }
    }

    @inline(__always)
    private func end(of range: KeyRange, on page: BTreePage) -> Int {
        guard let upper = range.upper else { return page.count }
        return pointer(of: upper, on: page)
    }

    private func pointer(of key: [UInt8], on page: BTreePage) -> Int {
        key.withUnsafeBytes { bytes in BTreeKey(bytes).map { page.pointer(of: $0).index } ?? 0 }
    }
}
