import SheafBytes

/// A copier of files that makes each copy durable and reports its progress.
struct FileCopier {
    private static let sliceLength = 1 << 20
    /// The number of bytes after which a copy is synced.
    ///
    /// Unwritten bytes of a copy would delay the syncs of a writer on the same disk.
    private static let lengthPerSync = 16 << 20

    private let onProgress: (CopyProgress) throws(StorageError) -> Void
    var report = CopyReport()
    var progress = CopyProgress()

    init(onProgress: @escaping (CopyProgress) throws(StorageError) -> Void) {
        self.onProgress = onProgress
    }

    /// Begins another step.
    mutating func begin(_ phase: CopyProgress.Phase) throws(StorageError) {
        progress.phase = phase
        try onProgress(progress)
    }

    /// Reports the progress once more, so that a canceled backup ends between two chunks.
    func proceed() throws(StorageError) {
        try onProgress(progress)
    }

    /// Counts a file that needs no copy any more.
    mutating func count(_ length: Int, isShared: Bool) throws(StorageError) {
        report.count(length, isShared: isShared)
        progress.doneBytes += length
        try onProgress(progress)
    }

    /// Creates a durable file with the bytes that `read` returns for each range.
    ///
    /// If `isCompared` is true, the copy is read and compared with the bytes that were written.
    mutating func copy(
        _ name: String, length: Int, to volume: any Volume, isCompared: Bool = false,
        _ read: (Range<Int>, UnsafeMutableRawBufferPointer) throws(VolumeError) -> Void
    ) throws(StorageError) {
        let file = try translatingErrors { () throws(VolumeError) in
            try volume.open(name, .create)
        }
        defer { file.close() }
        let buffer = UnsafeMutableRawBufferPointer.allocate(
            byteCount: min(Self.sliceLength, max(length, 1)), alignment: 4_096)
        defer { buffer.deallocate() }
        var written = XXH3.Stream()
        var unsynced = 0
        for start in stride(from: 0, to: length, by: Self.sliceLength) {
            let range = start..<min(start + Self.sliceLength, length)
            let slice = UnsafeMutableRawBufferPointer(rebasing: buffer[..<range.count])
            try translatingErrors { () throws(VolumeError) in
                try read(range, slice)
                try file.writeFully(UnsafeRawBufferPointer(slice), at: start)
                unsynced += range.count
                guard unsynced >= Self.lengthPerSync else { return }
                try file.synchronize()
                unsynced = 0
            }
            if isCompared { written.update(UnsafeRawBufferPointer(slice)) }
            progress.doneBytes += range.count
            try onProgress(progress)
        }
        try translatingErrors { () throws(VolumeError) in try file.synchronize() }
        report.count(length, isShared: false)
        guard isCompared else { return }
        guard try hash(of: file, length: length, buffer) == written.finish() else {
            throw .damaged(name, at: 0, "the copy differs from the file")
        }
    }

    /// Returns the hash of a file.
    private func hash(
        of file: any VolumeFile, length: Int, _ buffer: UnsafeMutableRawBufferPointer
    ) throws(StorageError) -> UInt64 {
        var stream = XXH3.Stream()
        for start in stride(from: 0, to: length, by: Self.sliceLength) {
            let slice = UnsafeMutableRawBufferPointer(
                rebasing: buffer[..<min(Self.sliceLength, length - start)])
            try translatingErrors { () throws(VolumeError) in
                try file.readFully(into: slice, at: start)
            }
            stream.update(UnsafeRawBufferPointer(slice))
        }
        return stream.finish()
    }
}
