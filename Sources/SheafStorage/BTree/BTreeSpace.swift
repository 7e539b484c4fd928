/// The page allocator of the writer.
///
/// A page that the newest live snapshot can see is never changed; it is copied, and the original is
/// retired. A retired page belongs to the newest snapshot that can see it. When that snapshot is
/// released, the page passes to the next older snapshot if that one can see it, and is freed
/// otherwise. A long-lived snapshot thus keeps only its own pages, not those of later versions.
///
/// Free pages stay with the tree; memory is released with the tree and its snapshots.
///
/// The pages of a mapped file, and those of the snapshot that a fork begins with, are foreign: they
/// are read in place, and never written.
struct BTreeSpace: ~Copyable, Sendable {
    /// A linked list of pages, threaded through a header field that readers do not access.
    private struct Chain {
        private(set) var first: UInt32 = 0
        private(set) var count = 0

        /// Adds a page at the front of the list.
        @inline(__always)
        mutating func push(_ number: UInt32, _ view: BTreeView) {
            view.page(number).nextPage = first
            first = number
            count += 1
        }

        /// Removes and returns the first page of the list; nil if the list is empty.
        @inline(__always)
        mutating func pop(_ view: BTreeView) -> UInt32? {
            guard count > 0 else { return nil }
            defer { first = view.page(first).nextPage }
            count -= 1
            return first
        }
    }

    private struct LiveVersion {
        var version: UInt64
        var retired = Chain()
    }

    /// The distance between the first page numbers of consecutive chunks.
    static let pagesPerChunk = 1 << BTreeView.chunkBits

    /// The memory of the pages.
    let arena: BTreeArena
    // The writer only changes directory entries after the last one, which no snapshot reads. A full
    // directory is replaced by a larger copy; the arena keeps the old one for its readers.
    private(set) nonisolated(unsafe) var directory: UnsafeMutablePointer<UnsafeMutableRawPointer>
    private var directoryCapacity: Int
    private(set) var chunkCount: Int
    private var nextPage: UInt32 = 0
    private var endOfChunk: UInt32 = 0

    /// The version of new pages, which is greater than that of every snapshot.
    private(set) var version: UInt64 = 1
    /// The newest version of a live snapshot; zero if there is none.
    private(set) var newestLive: UInt64 = 0
    private var live: [LiveVersion] = []
    private var free = Chain()
    private var releasedVersions: [UInt64] = []

    /// The last page number that a foreign page can have; zero if there are none.
    private let lastForeignPage: UInt32
    /// The version of the newest foreign page.
    private let foreignVersion: UInt64
    /// The number of own pages, and of pages of a mapped file.
    private(set) var allocatedPages: Int
    /// The number of pages of the mapped file that the tree has replaced.
    private(set) var droppedPages = 0
    /// The number of bytes allocated for pages and their directory.
    private(set) var byteCount = 0

    /// Creates a space that contains the pages 1 to `pageCount` of a mapped file, if any.
    init(mapping: FileMapping? = nil, pageCount: Int = 0, firstPageOffset: Int = 0) {
        arena = BTreeArena(keeping: mapping)
        lastForeignPage = UInt32(truncatingIfNeeded: pageCount)
        foreignVersion = 0
        allocatedPages = pageCount
        chunkCount = pageCount == 0 ? 0 : pageCount / Self.pagesPerChunk + 1
        directoryCapacity = chunkCount + 8
        byteCount = Self.directoryLength(directoryCapacity)
        directory = arena.allocate(byteCount: byteCount)
            .assumingMemoryBound(to: UnsafeMutableRawPointer.self)
        guard let mapping else { return }
        // Page 1 is at the offset, so page 0, which does not exist, would precede it.
        let pageZero = mapping.base + (firstPageOffset - BTreePage.Layout.size)
        for chunk in 0..<chunkCount {
            (directory + chunk).initialize(
                to: pageZero + chunk * Self.pagesPerChunk * BTreePage.Layout.size)
        }
    }

    /// Creates a space that contains the pages of a snapshot, and keeps it.
    init(forking snapshot: BTreeSnapshot) {
        arena = BTreeArena(keeping: snapshot)
        chunkCount = snapshot.chunkCount
        lastForeignPage = UInt32(truncatingIfNeeded: chunkCount * Self.pagesPerChunk - 1)
        foreignVersion = snapshot.version
        (version, newestLive) = (foreignVersion + 1, foreignVersion)
        allocatedPages = 0
        directoryCapacity = chunkCount + 8
        byteCount = Self.directoryLength(directoryCapacity)
        directory = arena.allocate(byteCount: byteCount)
            .assumingMemoryBound(to: UnsafeMutableRawPointer.self)
        directory.initialize(from: snapshot.view.directory, count: chunkCount)
    }

    /// Whether the page belongs to this space.
    func isOwn(_ number: UInt32) -> Bool { number > lastForeignPage }

    /// Returns the page with this number.
    @inline(__always)
    func page(_ number: UInt32) -> BTreePage {
        view.page(number)
    }

    /// A view for accessing pages; its root is not valid.
    @inline(__always)
    private var view: BTreeView { BTreeView(directory: directory, root: 0) }

    /// Whether no snapshot can see the page and it is not foreign.
    @inline(__always)
    func isWritable(_ number: UInt32) -> Bool { page(number).version > newestLive }

    /// Returns the number of a page with uninitialized contents.
    mutating func allocate() -> UInt32 {
        if let page = free.pop(view) { return page }
        if nextPage == endOfChunk { addChunk() }
        let page = nextPage
        nextPage += 1
        allocatedPages += 1
        return page
    }

    /// Releases a page that the tree does not use any more.
    mutating func release(_ number: UInt32) {
        guard isOwn(number) else {
            // Writing to a mapped page would allocate memory for a copy.
            if foreignVersion == 0 { droppedPages += 1 }
            return
        }
        let version = page(number).version
        guard version <= newestLive, let last = live.indices.last else {
            free.push(number, view)
            return
        }
        live[last].retired.push(number, view)
    }

    /// Makes all current pages immutable while the returned version is live.
    mutating func publish() -> UInt64 {
        newestLive = version
        live.append(LiveVersion(version: version))
        version += 1
        return newestLive
    }

    /// Frees the pages that only released snapshots could see.
    mutating func reclaim() {
        arena.takeReleasedVersions(into: &releasedVersions)
        while let version = releasedVersions.popLast() { removeVersion(version) }
        newestLive = live.last?.version ?? foreignVersion
    }

    private mutating func removeVersion(_ version: UInt64) {
        // This is usually the oldest or the newest version; few are live at any time.
        guard let index = live.lastIndex(where: { $0.version == version }) else {
            preconditionFailure("A snapshot is released once.")
        }
        var retired = live.remove(at: index).retired
        let view = view
        while let number = retired.pop(view) {
            if index > 0, page(number).version <= live[index - 1].version {
                live[index - 1].retired.push(number, view)
            } else {
                free.push(number, view)
            }
        }
    }

    /// Adds a chunk; the first chunks are small, which keeps tiny stores and simulations cheap.
    private mutating func addChunk() {
        let pages = min(Self.pagesPerChunk, 16 << (2 * min(chunkCount, 8)))
        if chunkCount == directoryCapacity { growDirectory() }
        let bytes = pages * BTreePage.Layout.size
        (directory + chunkCount).initialize(to: arena.allocate(byteCount: bytes))
        byteCount += bytes
        let first = UInt32(truncatingIfNeeded: chunkCount * Self.pagesPerChunk)
        precondition(chunkCount < 1 << (32 - BTreeView.chunkBits), "Page numbers have 32 bits.")
        chunkCount += 1
        nextPage = max(first, 1)
        endOfChunk = first + UInt32(truncatingIfNeeded: pages)
    }

    private static func directoryLength(_ capacity: Int) -> Int {
        capacity * MemoryLayout<UnsafeMutableRawPointer>.stride
    }

    private mutating func growDirectory() {
        let capacity = directoryCapacity * 4
        let bytes = Self.directoryLength(capacity)
        let larger = arena.allocate(byteCount: bytes)
            .assumingMemoryBound(to: UnsafeMutableRawPointer.self)
        byteCount += bytes
        larger.initialize(from: directory, count: chunkCount)
        directory = larger
        directoryCapacity = capacity
    }

    /// Whether a page is among `allocatedPages`.
    func isCounted(_ number: UInt32) -> Bool { isOwn(number) || foreignVersion == 0 }

    /// The number of pages that a snapshot keeps from being reused.
    var retiredPages: Int { live.reduce(0) { $0 + $1.retired.count } }

    /// The number of pages available for reuse.
    var freePages: Int { free.count }

    /// Returns the free and retired pages, for checking that all pages are accounted for.
    func idlePages() -> [UInt32] {
        var pages: [UInt32] = []
        for chain in live.map(\.retired) + [free] {
            var number = chain.first
            for _ in 0..<chain.count {
                pages.append(number)
                number = page(number).nextPage
            }
        }
        return pages
    }
}
