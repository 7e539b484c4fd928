#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

#if !canImport(Darwin)
    import SheafSystem
    import Synchronization

    /// A watch of the writes to one file, by inotify.
    package final class FileWatch: VolumeWatch {
        /// Minimum time from an event to the end of the next wait.
        ///
        /// A thread that slept until each event would cost a busy writer a wake-up per flush.
        private static let pauseNanoseconds: UInt64 = 10_000_000

        /// The time at which the last events were read.
        private let lastEvents = Atomic<UInt64>(0)
        private let events: Descriptor
        /// The ends of a pipe that `interrupt` writes to.
        private let interruption: (read: Descriptor, write: Descriptor)

        /// Watches the file `name` in `directory`; nil if that is no regular file, or the system
        /// refuses.
        init?(_ name: String, in directory: Descriptor) {
            let number = inotify_init1(Int32(O_CLOEXEC | O_NONBLOCK))
            guard number >= 0 else { return nil }
            events = Descriptor(number)
            var ends: [Int32] = [-1, -1]
            guard pipe(&ends) == 0 else { return nil }
            for end in ends {
                _ = fcntl(end, F_SETFD, FD_CLOEXEC)
                _ = fcntl(end, F_SETFL, O_NONBLOCK)
            }
            interruption = (Descriptor(ends[0]), Descriptor(ends[1]))
            guard let file = try? directory.open(.open, name, O_RDONLY) else { return nil }
            defer { file.close() }
            // The file was opened without following a symbolic link of this name. The path of the
            // open file names it even if its directory was renamed.
            let watched = try? file.call(.open, name) { file in
                Int(inotify_add_watch(number, "/proc/self/fd/\(file)", UInt32(IN_MODIFY)))
            }
            guard watched != nil else { return nil }
        }

        package func wait(milliseconds: Int) {
            _ = try? events.call(.read, "events") { events in
                (try? interruption.read.call(.read, "events") { pipe in
                    var polled = [
                        pollfd(fd: pipe, events: Int16(POLLIN), revents: 0),
                        pollfd(fd: events, events: Int16(POLLIN), revents: 0),
                    ]
                    if poll(&polled, 1, pauseMilliseconds()) == 0 {
                        _ = poll(&polled, nfds_t(polled.count), Int32(clamping: milliseconds))
                    }
                    if Self.drain(events) { lastEvents.store(Self.now(), ordering: .relaxed) }
                    Self.drain(pipe)
                    return 0
                }) ?? 0
            }
        }

        /// Returns the time in which a wait only collects events.
        private func pauseMilliseconds() -> Int32 {
            Self.pauseMilliseconds(
                at: Self.now(), eventsAt: lastEvents.load(ordering: .relaxed))
        }

        /// Returns the time in which a wait only collects events.
        package static func pauseMilliseconds(at now: UInt64, eventsAt last: UInt64) -> Int32 {
            // Another thread may have read events after `now`.
            let passed = now - min(now, last)
            return passed < pauseNanoseconds
                ? Int32((pauseNanoseconds - passed + 999_999) / 1_000_000) : 0
        }

        private static func now() -> UInt64 { Clock.system.monotonicNanoseconds() }

        package func interrupt() {
            // A full pipe already ends the wait.
            _ = try? interruption.write.call(.write, "events") { pipe in
                withUnsafeBytes(of: UInt8(1)) { write(pipe, $0.baseAddress, $0.count) }
            }
        }

        /// Reads and discards all events that have arrived; returns whether there were any.
        @discardableResult
        private static func drain(_ events: Int32) -> Bool {
            withUnsafeTemporaryAllocation(byteCount: 4_096, alignment: 8) { buffer in
                var isAny = false
                while read(events, buffer.baseAddress, buffer.count) > 0 { isAny = true }
                return isAny
            }
        }
    }
#endif
