import SheafSyncModel

/// What libFuzzer calls with each input; it keeps what reaches code that was not reached before.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = UnsafeRawBufferPointer(start: start, count: count)
    if let breach = SyncProbe.readPresence(bytes) { fatalError(breach) }
    return 0
}
