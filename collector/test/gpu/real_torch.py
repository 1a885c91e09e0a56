# Trains a small transformer in PyTorch on the GPU.
#
#   real_torch.py train D,LAYERS,BATCH,LENGTH SECONDS    prints steps and the seconds that they took
#   real_torch.py profile SECONDS                        starts torch.profiler again and again while it trains; prints how often, and how
#                                                        often that saw kernels
#   real_torch.py have                                   fails if PyTorch or its GPU is missing
import sys
import time

import torch

if not torch.cuda.is_available():
    sys.exit("PyTorch has no GPU")
if sys.argv[1] == "have":
    sys.exit(0)


def trainer(width, layers, batch, length):
    torch.set_num_threads(1)
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(width, 8, 4 * width, batch_first=True, dropout=0.0)
    model = torch.nn.TransformerEncoder(layer, layers, enable_nested_tensor=False).to("cuda")
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    given = torch.randn(batch, length, width, device="cuda")
    wanted = torch.randn(batch, length, width, device="cuda")

    def step():
        optimizer.zero_grad(set_to_none=True)
        torch.nn.functional.mse_loss(model(given), wanted).backward()
        optimizer.step()

    for _ in range(10):
        step()
    torch.cuda.synchronize()
    return step


def train(shape, seconds):
    step = trainer(*(int(number) for number in shape.split(",")))
    began = time.perf_counter()
    steps = 0
    while time.perf_counter() < began + seconds:
        step()
        steps += 1
    torch.cuda.synchronize()
    print(steps, f"{time.perf_counter() - began:.6f}")


def profile(seconds):
    from torch.profiler import ProfilerActivity
    from torch.profiler import profile as profiler

    step = trainer(256, 6, 8, 64)
    until = time.monotonic() + seconds
    tried = seen = 0
    while time.monotonic() < until:
        for _ in range(20):
            step()
        with profiler(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as run:
            for _ in range(3):
                step()
            torch.cuda.synchronize()
        tried += 1
        seen += any("CUDA" in str(event.device_type) for event in run.events())
    print(tried, seen)


if sys.argv[1] == "train":
    train(sys.argv[2], float(sys.argv[3]))
else:
    profile(float(sys.argv[2]))
