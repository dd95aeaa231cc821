"""The same service under gunicorn.

gunicorn -c gunicorn_conf.py -k uvicorn.workers.UvicornWorker main:app
"""

import os

bind = f"0.0.0.0:{os.environ.get('PORT', '8000')}"
workers = int(os.environ.get("MAX_WORKERS", "3"))
timeout = int(os.environ.get("TIMEOUT", "60"))
preload_app = True
max_requests = 50
