package import SheafStorage

extension VolumeFile {
    /// Writes a complete array.
    package func writeFully(_ array: [UInt8], at offset: Int) throws(VolumeError) {
        var failure: VolumeError?
        array.withUnsafeBytes { bytes in
            do throws(VolumeError) {
                try writeFully(bytes, at: offset)
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
    }

    /// Reads exactly `count` bytes.
    package func readFully(_ count: Int, at offset: Int) throws(VolumeError) -> [UInt8] {
        var array = [UInt8](repeating: 0, count: count)
        var failure: VolumeError?
        array.withUnsafeMutableBytes { bytes in
            do throws(VolumeError) {
                try readFully(into: bytes, at: offset)
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
        return array
    }
}

extension Volume {
    /// Creates a file with these bytes, without synchronizing it.
    package func write(_ array: [UInt8], to name: String) throws(VolumeError) {
        let file = try open(name, .create)
        defer { file.close() }
        try file.writeFully(array, at: 0)
    }

    /// Returns the bytes of a file.
    package func contents(of name: String) throws(VolumeError) -> [UInt8] {
        let file = try open(name, .read)
        defer { file.close() }
        return try file.readAll(limit: 1 << 30)
    }
}

extension FileMapping {
    /// Returns a copy of the first `count` bytes, by default of all.
    package func array(_ count: Int? = nil) -> [UInt8] {
        withExtendedLifetime(self) { Array(bytes.prefix(count ?? self.count)) }
    }
}
