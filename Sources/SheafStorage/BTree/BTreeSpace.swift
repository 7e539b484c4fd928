/// Where the writer gets pages from, and when it may use them again.
///
/// A page that the newest live snapshot may see is never changed: it is copied, and the old one
/// retires. It is charged to the newest snapshot that sees it. When that one goes, the page moves on
/// to the next older snapshot if that is younger than the page, and is free otherwise. So a snapshot
/// that lives long keeps its own pages and none of those that came and went after it.
///
/// Free pages stay with the tree; memory is given back when the tree and its snapshots are gone.
struct BTreeSpace: ~Copyable, Sendable {
    /// Pages that are chained through a word of their headers which no reader looks at.
    private struct Chain {
        private(set) var first: UInt32 = 0
        private(set) var count = 0

        @inline(__always)
        mutating func push(_ number: UInt32, _ view: BTreeView) {
            view.page(number).link = first
            first = number
            count += 1
        }

        @inline(__always)
        mutating func pop(_ view: BTreeView) -> UInt32? {
            guard count > 0 else { return nil }
            defer { first = view.page(first).link }
            count -= 1
            return first
        }
    }

    private struct LiveVersion {
        var version: UInt64
        var retired = Chain()
    }

    /// Page numbers advance by this from one chunk to the next.
    static let pagesPerChunk = 1 << BTreeView.chunkBits

    /// The memory itself.
    let arena: BTreeArena
    // Only the writer changes the directory, and only where no snapshot looks: entries behind the
    // last one. When it is full, a copy takes its place and the old one stays for its readers.
    private(set) nonisolated(unsafe) var directory: UnsafeMutablePointer<UnsafeMutableRawPointer>
    private var directoryCapacity: Int
    private var chunkCount: Int
    private var nextPage: UInt32 = 0
    private var endOfChunk: UInt32 = 0

    /// The version of pages made now; it is greater than that of every snapshot.
    private(set) var version: UInt64 = 1
    /// The newest version that a snapshot may be looking at, zero if there is none.
    private(set) var newestLive: UInt64 = 0
    private var live: [LiveVersion] = []
    private var free = Chain()
    private var releasedVersions: [UInt64] = []

    /// Pages up to this number belong to a mapped file and are never written.
    let mappedPages: UInt32
    private(set) var allocatedPages: Int
    /// Pages of the mapped file that the tree has replaced.
    private(set) var droppedPages = 0
    private(set) var byteCount = 0

    /// Space with no pages of its own behind the pages 1 to `pageCount` of a mapped file, if any.
    init(mapping: FileMapping? = nil, pageCount: Int = 0, firstPageOffset: Int = 0) {
        arena = BTreeArena(mapping: mapping)
        mappedPages = UInt32(truncatingIfNeeded: pageCount)
        allocatedPages = pageCount
        chunkCount = pageCount == 0 ? 0 : pageCount / Self.pagesPerChunk + 1
        directoryCapacity = chunkCount + 8
        directory = arena.allocate(
            byteCount: directoryCapacity * MemoryLayout<UnsafeMutableRawPointer>.stride
        ).assumingMemoryBound(to: UnsafeMutableRawPointer.self)
        guard let mapping else { return }
        // Page 1 is at the offset, so page 0, which does not exist, would be one page before.
        let pageZero = mapping.base + (firstPageOffset - BTreePage.Layout.size)
        for chunk in 0..<chunkCount {
            (directory + chunk).initialize(
                to: pageZero + chunk * Self.pagesPerChunk * BTreePage.Layout.size)
        }
    }

    /// The page with this number.
    @inline(__always)
    func page(_ number: UInt32) -> BTreePage {
        view.page(number)
    }

    /// Leads to the pages, but to no tree.
    @inline(__always)
    private var view: BTreeView { BTreeView(directory: directory, root: 0) }

    /// Whether no snapshot can see the page and it is not part of a file.
    @inline(__always)
    func isWritable(_ number: UInt32) -> Bool { page(number).version > newestLive }

    /// The number of a page with arbitrary contents.
    mutating func allocate() -> UInt32 {
        if let page = free.pop(view) { return page }
        if nextPage == endOfChunk { addChunk() }
        let page = nextPage
        nextPage += 1
        allocatedPages += 1
        return page
    }

    /// Takes back a page that the tree no longer uses.
    mutating func release(_ number: UInt32) {
        if number <= mappedPages {
            // Writing it would cost memory that the file's own pages do not.
            droppedPages += 1
            return
        }
        let version = page(number).version
        guard version <= newestLive, let last = live.indices.last else {
            free.push(number, view)
            return
        }
        live[last].retired.push(number, view)
    }

    /// Makes all pages there are now immutable for as long as the returned version is live.
    mutating func publish() -> UInt64 {
        newestLive = version
        live.append(LiveVersion(version: version))
        version += 1
        return newestLive
    }

    /// Finds out which snapshots are gone and frees the pages that only they could see.
    mutating func reclaim() {
        arena.takeReleasedVersions(into: &releasedVersions)
        while let version = releasedVersions.popLast() { forget(version) }
        newestLive = live.last?.version ?? 0
    }

    private mutating func forget(_ version: UInt64) {
        // Mostly it is the oldest or the newest; few are live at any time.
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

    /// The first chunks are small: there are stores, and simulations of them, with three entries.
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

    private mutating func growDirectory() {
        let capacity = directoryCapacity * 4
        let larger = arena.allocate(
            byteCount: capacity * MemoryLayout<UnsafeMutableRawPointer>.stride
        ).assumingMemoryBound(to: UnsafeMutableRawPointer.self)
        larger.initialize(from: directory, count: chunkCount)
        directory = larger
        directoryCapacity = capacity
    }

    /// How many pages wait for a snapshot to go.
    var retiredPages: Int { live.reduce(0) { $0 + $1.retired.count } }

    /// How many pages wait to be used again.
    var freePages: Int { free.count }

    /// The pages that are free or retired, for those who check that all pages are accounted for.
    func idlePages() -> [UInt32] {
        var pages: [UInt32] = []
        for chain in live.map(\.retired) + [free] {
            var number = chain.first
            for _ in 0..<chain.count {
                pages.append(number)
                number = page(number).link
            }
        }
        return pages
    }
}
