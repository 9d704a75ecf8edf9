import Worker

/// The program `weir-overlay-clicks`.
@main
enum WeirOverlayClicks {
    static func main() {
        OverlayClicksWorker.start()
    }
}
