import Streams
import Worker

@main
enum WeirOverlayClicks {
    static func main() {
        StreamWorker<OverlayClicksFold>.start()
    }
}
