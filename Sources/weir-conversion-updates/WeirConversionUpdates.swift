import Worker

/// The program `weir-conversion-updates`.
@main
enum WeirConversionUpdates {
    static func main() {
        ConversionUpdatesWorker.start()
    }
}
