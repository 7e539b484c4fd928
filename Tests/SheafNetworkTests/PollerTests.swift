import SheafNetwork
import SheafSystem
import SheafTestSupport
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Waits for descriptors, of pipes here.
struct PollerTests {
    /// A pipe, whose ends close on deallocation.
    private final class Pipe {
        let reading: Int32
        let writing: Int32
        private var isWriterOpen = true

        init() throws {
            var ends: [Int32] = [-1, -1]
            let result = pipe(&ends)
            try #require(result == 0)
            (reading, writing) = (ends[0], ends[1])
        }

        deinit {
            close(reading)
            closeWriter()
        }

        func closeWriter() {
            if isWriterOpen { close(writing) }
            isWriterOpen = false
        }

        func put() throws {
            let count = write(writing, [7] as [UInt8], 1)
            try #require(count == 1)
        }

        func take() throws {
            var byte: UInt8 = 0
            let count = read(reading, &byte, 1)
            try #require(count == 1)
        }
    }

    private let poller: Poller

    init() throws {
        poller = Poller(try DescriptorQueue())
    }

    /// Waits for at most some milliseconds; returns the events by token, as letters.
    private func events(milliseconds: Int = 0) -> [UInt64: String] {
        poller.wait(milliseconds: milliseconds, polling: .off)
        return poller.events.reduce(into: [:]) { found, event in
            found[event.token] =
                (event.isReadable ? "r" : "") + (event.isWritable ? "w" : "")
                + (event.isClosed ? "c" : "")
        }
    }

    @Test func `a descriptor is ready for the events that it was added for`() throws {
        let pipe = try Pipe()
        try poller.set(pipe.reading, token: 7, reading: true, writing: false)
        try poller.set(pipe.writing, token: 8, reading: false, writing: false)
        #expect(events() == [:])
        try pipe.put()
        #expect(events(milliseconds: 60_000) == [7: "r"])
        try poller.set(pipe.writing, token: 9, reading: false, writing: true)
        #expect(events(milliseconds: 60_000) == [7: "r", 9: "w"])
        try poller.set(pipe.reading, token: 7, reading: false, writing: false)
        #expect(events() == [9: "w"])
        try poller.set(pipe.reading, token: 7, reading: true, writing: false)
        try pipe.take()
        #expect(events() == [9: "w"])
        poller.remove(pipe.writing)
        #expect(events() == [:])
    }

    @Test func `a closed connection is ready for all events`() throws {
        let pipe = try Pipe()
        try poller.set(pipe.reading, token: 7, reading: false, writing: false)
        #expect(events() == [:])
        pipe.closeWriter()
        #expect(events(milliseconds: 60_000) == [7: "rwc"])
        poller.remove(pipe.reading)
        #expect(events() == [:])
    }

    @Test func `a temporary descriptor is waited for once`() throws {
        let pipes = try (0..<3).map { _ in try Pipe() }
        try poller.set(pipes[2].reading, token: 1 << 62, reading: true, writing: false)
        for pipe in pipes[1...] { try pipe.put() }
        for (number, pipe) in pipes[..<2].enumerated() {
            let index = try poller.addTemporary(pipe.reading)
            #expect(index == number)
        }
        #expect(events(milliseconds: 60_000) == [1 << 62: "r"])
        #expect(!poller.isReadable(0) && poller.isReadable(1) && !poller.isReadable(2))
        #expect(events(milliseconds: 60_000) == [1 << 62: "r"])
        #expect(!poller.isReadable(0) && !poller.isReadable(1))
        let index = try poller.addTemporary(pipes[1].reading)
        #expect(index == 0)
        #expect(events(milliseconds: 60_000) == [1 << 62: "r"])
        #expect(poller.isReadable(0))
    }

    @Test func `a thread that polls does not sleep meanwhile`() throws {
        let pipe = try Pipe()
        try poller.set(pipe.reading, token: 7, reading: true, writing: false)
        let polling = BusyPoll(microseconds: BusyPoll.maximumMicroseconds)
        // Under load the thread may not run often enough in one of the waits.
        let isBusy = (0..<500).contains { _ in
            let start = ThreadTime.microseconds()
            poller.wait(milliseconds: 1, polling: polling)
            return ThreadTime.microseconds() - start >= 500
        }
        #expect(isBusy)
        #expect(poller.events.isEmpty)
    }
}
