extension FileMapping {
    /// Returns a mapping of the first `length` bytes, which retains this one.
    func prefix(_ length: Int) -> FileMapping {
        precondition(length <= count, "A part of a mapping is not longer than the mapping.")
        guard length < count else { return self }
        return FileMapping(base: base, count: length) { withExtendedLifetime(self) {} }
    }

    /// Returns a copy of bytes in memory, which no change of a file affects.
    static func copy(
        count: Int, _ fill: (UnsafeMutableRawBufferPointer) throws(VolumeError) -> Void
    ) throws(VolumeError) -> FileMapping {
        let copied = UnsafeMutableRawBufferPointer.allocate(
            byteCount: max(count, 1), alignment: 4_096)
        nonisolated(unsafe) let bytes = copied
        do throws(VolumeError) {
            try fill(UnsafeMutableRawBufferPointer(rebasing: bytes[..<count]))
        } catch {
            bytes.deallocate()
            throw error
        }
        guard let base = bytes.baseAddress else {
            preconditionFailure("An allocation of at least one byte has an address.")
        }
        return FileMapping(base: base, count: count) { bytes.deallocate() }
    }
}
